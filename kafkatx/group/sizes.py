"""Approximate memory of groups and members, for their limits: the data of members and its objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable

MEMBER_BYTES = 1500
"""Memory of a member beside the data that it sent: objects, timers, table entries."""

GROUP_BYTES = 4000
"""Memory of a group without members."""

STRING_BYTES = 60
"""Memory of a string or an item of a set, beside its characters."""


def text_bytes(*texts: str | None) -> int:
    """Return the memory that some strings take; None takes nothing."""
    return sum(STRING_BYTES + (len(t) if t.isascii() else 4 * len(t)) for t in texts if t is not None)


def protocols_bytes(protocols: Iterable[tuple[str, bytes]]) -> int:
    """Return the memory that the names and metadata of a member's protocols take."""
    return sum(text_bytes(name) + len(metadata) for name, metadata in protocols)
