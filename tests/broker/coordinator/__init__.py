"""Tests of ``kafkatx.broker.coordinator``."""
