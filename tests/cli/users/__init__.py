"""Tests of kafkatx.cli.users."""
