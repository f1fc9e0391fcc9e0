"""Tests of kafkatx.cli.broker."""
