"""Tests of the table of metrics."""
