"""Tests of ``kafkatx.log.append``."""
