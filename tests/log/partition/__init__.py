"""Tests of ``kafkatx.log.partition``."""
