"""Moves of logs between log dirs."""
