"""Tests of ``kafkatx.testing.faults``."""
