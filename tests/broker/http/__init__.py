"""Tests of :mod:`kafkatx.broker.http`."""
