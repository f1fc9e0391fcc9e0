"""Tests of kafkatx.cli.quotas."""
