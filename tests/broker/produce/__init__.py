"""Tests of produce requests."""
