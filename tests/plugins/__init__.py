"""Tests of ``kafkatx.plugins``."""
