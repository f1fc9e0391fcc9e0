"""Tests of the routes about cluster."""
