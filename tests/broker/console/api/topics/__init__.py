"""Tests of the routes about topics."""
