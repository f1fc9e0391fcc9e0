"""Tests of the pages of the console."""
