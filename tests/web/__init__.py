"""Tests of :mod:`kafkatx.web`."""
