"""Tests of ``kafkatx mirror``."""
