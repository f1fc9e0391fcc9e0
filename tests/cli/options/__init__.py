"""Tests of ``kafkatx.cli.options``."""
