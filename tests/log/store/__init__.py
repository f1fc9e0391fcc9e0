"""Tests of ``kafkatx.log.store``."""
