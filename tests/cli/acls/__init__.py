"""Tests of kafkatx.cli.acls."""
