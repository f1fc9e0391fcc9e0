"""Tests of the routes about groups."""
