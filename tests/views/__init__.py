"""Tests of :mod:`kafkatx.views`."""
