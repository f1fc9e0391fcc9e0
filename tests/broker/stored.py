"""The bytes of records read from a log in memory."""

from __future__ import annotations

from kafkatx.types import FileSlice, Records


def in_memory(records: Records) -> memoryview:
    """Return the bytes that a log in memory has read."""
    assert not isinstance(records, FileSlice)
    return memoryview(records)
