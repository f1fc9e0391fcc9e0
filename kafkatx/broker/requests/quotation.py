"""What peers sent, in lines of the log."""

from __future__ import annotations

LOGGED_CHARACTERS = 100


def quoted(text: str) -> str:
    """What a client sent, for a line of the log: neither control characters nor its length may break it."""
    return ascii(text) if len(text) <= LOGGED_CHARACTERS else f"{text[:LOGGED_CHARACTERS]!a}..."
