"""Tests of kafkatx.coordination."""
