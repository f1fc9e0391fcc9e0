"""Tests of :mod:`kafkatx.registry`."""
