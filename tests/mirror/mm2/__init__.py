"""Tests of ``kafkatx.mirror.mm2``."""
