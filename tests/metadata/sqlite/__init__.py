"""Tests of kafkatx.metadata.sqlite."""
