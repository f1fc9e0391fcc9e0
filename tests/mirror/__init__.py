"""Tests of ``kafkatx.mirror``."""
