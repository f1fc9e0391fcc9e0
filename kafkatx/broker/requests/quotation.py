"""Quotation of text that peers sent, for log lines. Pure."""

from __future__ import annotations

LOGGED_CHARACTERS = 100


def quoted(text: str) -> str:
    """Return a client's text for a log line, escaped and cut to a limited length."""
    return ascii(text) if len(text) <= LOGGED_CHARACTERS else f"{text[:LOGGED_CHARACTERS]!a}..."
