"""Tests of kafkatx.machine."""
