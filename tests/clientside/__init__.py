"""Tests of kafkatx.clientside."""
