"""Tests of kafkatx.cli.tls."""
