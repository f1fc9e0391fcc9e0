"""Tests of kafkatx.testing.contracts.security."""
