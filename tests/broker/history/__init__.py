"""Tests of the samples over time."""
