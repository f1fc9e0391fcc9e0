"""Tests of kafkatx.cli.client_metrics."""
