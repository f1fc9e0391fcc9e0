"""Tests of :mod:`kafkatx.broker.mirror`."""
