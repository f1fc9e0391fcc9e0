"""Tests of ``kafkatx.blocking.producer``."""
