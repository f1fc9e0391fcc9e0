"""Tests of kafkatx.metadata.transfer."""
