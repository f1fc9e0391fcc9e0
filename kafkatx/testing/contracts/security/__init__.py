"""Contracts about who may do what."""
