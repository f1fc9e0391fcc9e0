"""Tests of the logins of the console."""
