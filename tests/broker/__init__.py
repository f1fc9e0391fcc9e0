"""Tests of kafkatx.broker."""
