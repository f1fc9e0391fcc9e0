"""Tests of ``kafkatx.clientcore.legacy``."""
