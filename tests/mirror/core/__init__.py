"""Tests of ``kafkatx.mirror.core``."""
