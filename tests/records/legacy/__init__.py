"""Tests of ``kafkatx.records.legacy``."""
