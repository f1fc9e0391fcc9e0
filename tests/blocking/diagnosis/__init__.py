"""Tests of kafkatx.blocking.diagnosis."""
