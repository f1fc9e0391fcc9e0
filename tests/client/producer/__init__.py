"""Tests of ``kafkatx.client.producer``."""
