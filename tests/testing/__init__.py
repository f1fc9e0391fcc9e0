"""Tests of kafkatx.testing."""
