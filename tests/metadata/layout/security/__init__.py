"""Tests of kafkatx.metadata.layout.security."""
