"""Tests of ``kafkatx.clientcore.admin``."""
