"""Tests of ``kafkatx.broker.replica.logs``."""
