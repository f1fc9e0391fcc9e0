"""Tests of ``kafkatx.cli.log``."""
