"""Tests of kafkatx.config.telemetry."""
