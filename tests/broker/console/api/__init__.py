"""Tests of the routes of the console."""
