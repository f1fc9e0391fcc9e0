"""Tests of ``kafkatx.cli.bench``."""
