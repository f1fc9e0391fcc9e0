"""Tests of kafkatx.clientcore.tables."""
