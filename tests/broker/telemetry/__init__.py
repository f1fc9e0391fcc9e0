"""Tests of kafkatx.broker.telemetry."""
