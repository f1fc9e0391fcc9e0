"""Tests of ``kafkatx.clientcore.group``."""
