"""Tests of kafkatx.tls."""
