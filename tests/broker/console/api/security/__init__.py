"""Tests of the routes about security."""
