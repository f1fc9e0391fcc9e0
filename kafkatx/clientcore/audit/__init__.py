"""Counts of produced and consumed records, and how they are announced."""
