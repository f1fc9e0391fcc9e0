"""Tests of ``kafkatx.cli.cluster``."""
