"""Tests of :mod:`kafkatx.broker.registry.api`."""
