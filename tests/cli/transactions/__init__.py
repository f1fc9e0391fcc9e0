"""Tests of kafkatx.cli.transactions."""
