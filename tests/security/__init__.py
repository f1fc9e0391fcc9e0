"""Tests of kafkatx.security."""
