"""Tests of ``kafkatx.cli.process``."""
