"""Tests of fetch requests."""
