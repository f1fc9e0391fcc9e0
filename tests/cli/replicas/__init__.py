"""Tests of ``kafkatx.cli.replicas``."""
