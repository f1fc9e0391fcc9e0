"""Tests of kafkatx.cli."""
