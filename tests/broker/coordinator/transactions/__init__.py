"""Tests of :mod:`kafkatx.broker.coordinator.transactions`."""
