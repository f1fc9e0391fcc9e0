"""Tests of ``kafkatx.broker.coordinator.runtime``."""
