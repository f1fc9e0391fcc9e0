"""Tests of kafkatx.config."""
