"""Tests of ``kafkatx.broker.replica``."""
