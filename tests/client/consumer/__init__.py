"""Tests of ``kafkatx.client.consumer``."""
