"""Tests of kafkatx.metadata.layout."""
