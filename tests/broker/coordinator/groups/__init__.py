"""Tests of ``kafkatx.broker.coordinator.groups``."""
