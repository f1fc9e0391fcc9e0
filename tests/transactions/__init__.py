"""Tests of :mod:`kafkatx.transactions`."""
