"""Tests of kafkatx.metadata."""
