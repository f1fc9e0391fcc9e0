"""Tests of ``kafkatx.clientcore.producer``."""
