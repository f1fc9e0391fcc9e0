"""Tests of kafkatx.supervisor."""
