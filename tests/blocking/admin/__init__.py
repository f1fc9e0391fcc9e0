"""Tests of ``kafkatx.blocking.admin``."""
