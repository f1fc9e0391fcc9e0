"""Nodes about who may do what. Pure."""
