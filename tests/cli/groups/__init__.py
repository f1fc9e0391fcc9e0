"""Tests of ``kafkatx.cli.groups``."""
