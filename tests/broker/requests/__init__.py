"""Tests of ``kafkatx.broker.requests``."""
