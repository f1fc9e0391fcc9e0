"""Tests against real clients, real processes and real files."""
