"""Tests of kafkatx.metadata.tree."""
