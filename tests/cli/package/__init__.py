"""Tests of kafkatx.cli.package."""
