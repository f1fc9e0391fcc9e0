"""Measurements; figures, never tests. Each prints what it measured and how."""
