"""Tests of ``kafkatx.client.legacy``."""
