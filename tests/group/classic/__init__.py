"""Tests of the classic group protocol."""
