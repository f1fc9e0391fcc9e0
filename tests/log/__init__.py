"""Tests of kafkatx.log."""
