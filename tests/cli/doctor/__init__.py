"""Tests of kafkatx.cli.doctor."""
