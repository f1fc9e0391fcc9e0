"""Tests of ``kafkatx schemas``."""
