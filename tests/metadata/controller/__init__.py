"""Tests of kafkatx.metadata.controller."""
