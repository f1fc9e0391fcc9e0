"""Tests of ``kafkatx.log.recovery``."""
