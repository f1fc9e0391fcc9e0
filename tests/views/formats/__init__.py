"""Tests of :mod:`kafkatx.views.formats`."""
