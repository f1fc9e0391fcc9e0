"""Tests of ``kafkatx.blocking.consumer``."""
