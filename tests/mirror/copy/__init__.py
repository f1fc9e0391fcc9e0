"""Tests of ``kafkatx.mirror.copy``."""
