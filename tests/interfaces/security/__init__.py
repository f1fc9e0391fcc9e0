"""Tests of kafkatx.interfaces.security."""
