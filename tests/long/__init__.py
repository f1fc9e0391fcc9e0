"""Tests that take long, and prove what no shorter one does: ``make long``, not ``make test``."""
