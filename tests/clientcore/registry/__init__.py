"""Tests of kafkatx.clientcore.registry."""
