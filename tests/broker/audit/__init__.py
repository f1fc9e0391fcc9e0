"""Tests of ``kafkatx.broker.audit``."""
