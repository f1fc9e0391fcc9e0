"""Tests of ``kafkatx.clientcore.consumer``."""
