"""Tests of kafkatx.cli.explanations."""
