"""Collectors: each reads a part of the broker and adds samples, a step at a time."""
