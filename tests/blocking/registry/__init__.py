"""Tests of kafkatx.blocking.registry."""
