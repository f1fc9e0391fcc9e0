"""Tests of kafkatx.blocking."""
