"""Tests of kafkatx.metadata.embedded."""
