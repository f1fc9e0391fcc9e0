"""Contracts of the parts of a mirror."""
