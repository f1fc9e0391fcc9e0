"""Tests of ``kafkatx.cli.pipeline``."""
