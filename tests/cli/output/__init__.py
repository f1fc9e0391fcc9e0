"""Tests of ``kafkatx.cli.output``."""
