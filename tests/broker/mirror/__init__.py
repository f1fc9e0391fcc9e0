"""Tests of ``kafkatx.broker.mirror``."""
