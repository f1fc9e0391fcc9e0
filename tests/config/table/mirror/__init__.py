"""Tests of ``kafkatx.config.table``."""
