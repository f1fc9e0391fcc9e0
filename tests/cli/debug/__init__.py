"""Tests of kafkatx.cli.debug."""
