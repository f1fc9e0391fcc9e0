"""Tests of ``kafkatx.client.admin``."""
