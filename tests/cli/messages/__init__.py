"""Tests of ``kafkatx.cli.messages``."""
