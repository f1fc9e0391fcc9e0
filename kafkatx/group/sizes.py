"""How much memory members take, near enough to bound it: what they sent, and something for the objects."""

from __future__ import annotations

from collections.abc import Iterable

MEMBER_BYTES = 1500
"""Of a member beside what it sent: its objects, timers and places in tables."""

GROUP_BYTES = 4000
"""Of a group without members."""

STRING_BYTES = 60
"""Of a string, or a place in a set, beside its characters."""


def text_bytes(*texts: str | None) -> int:
    """Return the memory that some strings take; None takes nothing."""
    return sum(STRING_BYTES + (len(t) if t.isascii() else 4 * len(t)) for t in texts if t is not None)


def protocols_bytes(protocols: Iterable[tuple[str, bytes]]) -> int:
    """Return the memory that the names and metadata of a member's protocols take."""
    return sum(text_bytes(name) + len(metadata) for name, metadata in protocols)
