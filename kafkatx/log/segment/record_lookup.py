"""Single records in a batch by their time; the batch is decoded, a part at a time. Pure.

:raises CorruptRecords: the batch cannot be decoded, or inflates to more than *limit_bytes* (all functions).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.records.batch import Record
from kafkatx.records.compression import LIMIT_BYTES
from kafkatx.records.conversion import stream_any


def first_at_or_after(
    batch: memoryview, timestamp_ms: int, start_offset: int, limit_bytes: int = LIMIT_BYTES
) -> Record | None:
    """Return the first record from *start_offset* on with a timestamp of *timestamp_ms* or later."""
    for record in stream_any(batch, True, limit_bytes):
        if record.offset >= start_offset and record.timestamp >= timestamp_ms:
            return record
    return None


def newest(batch: memoryview, start_offset: int, limit_bytes: int = LIMIT_BYTES) -> Record | None:
    """Return the first record with the largest timestamp, of those from *start_offset* on."""
    return newest_of(
        record for record in stream_any(batch, True, limit_bytes) if record.offset >= start_offset
    )


def newest_of(records: Iterable[Record | None]) -> Record | None:
    """Return the first record with the largest timestamp; None if there is no record."""
    return max((record for record in records if record is not None), key=_timestamp, default=None)


def _timestamp(record: Record) -> int:
    return record.timestamp
