"""Tests of ``kafkatx.clientcore.audit``."""
