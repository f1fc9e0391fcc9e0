"""Tests of kafkatx.testing.contracts.log."""
