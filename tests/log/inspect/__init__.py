"""Tests of kafkatx.log.inspect."""
