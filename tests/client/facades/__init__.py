"""Tests of ``kafkatx.client.facades``."""
