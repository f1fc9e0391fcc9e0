"""Tests of ``kafkatx.client.discovery``."""
