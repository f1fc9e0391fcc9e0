"""Tests of kafkatx.client.registry."""
