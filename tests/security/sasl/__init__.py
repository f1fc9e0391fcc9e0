"""Tests of kafkatx.security.sasl."""
