"""The routes about groups."""
