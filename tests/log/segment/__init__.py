"""Tests of ``kafkatx.log.segment``."""
