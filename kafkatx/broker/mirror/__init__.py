"""Mirrors: topics that a link fills from another cluster, byte by byte and offset by offset."""
