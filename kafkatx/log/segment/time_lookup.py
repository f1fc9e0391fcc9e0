"""Records by their time, in the segments of a log: what ListOffsets asks for.

It reads headers and decodes batches, so it runs in a worker, on twins of the segments
(:meth:`kafkatx.log.segment.segment.LogSegment.twin`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkatx.errors import CorruptRecords
from kafkatx.log.segment import record_lookup
from kafkatx.log.segment.files import LOG
from kafkatx.log.segment.scan import Shallow, checksum_right
from kafkatx.log.segment.segment import LogSegment
from kafkatx.records.batch import Record
from kafkatx.records.compression import LIMIT_BYTES


def go_on() -> None:
    """Never end early."""


def first_at_or_after(
    segments: Sequence[LogSegment],
    timestamp_ms: int,
    start_offset: int,
    limit_bytes: int = LIMIT_BYTES,
    check: Callable[[], None] = go_on,
) -> Record | None:
    """Return the first record, by offset, from *start_offset* on with a timestamp of *timestamp_ms* or later.

    :param segments: those that may have it, oldest first.
    :param check: called between two batches; what it raises ends the search.
    :raises CorruptRecords: a batch that may hold it is damaged.
    """
    for segment in segments:
        try:
            record = _first_in(segment, timestamp_ms, start_offset, limit_bytes, check)
        except FileNotFoundError:
            continue  # retention was faster
        if record is not None:
            return record
    return None


def _first_in(
    segment: LogSegment, timestamp_ms: int, start_offset: int, limit_bytes: int, check: Callable[[], None]
) -> Record | None:
    segment.make_ready()
    start = segment.find(max(segment.time_index.floor(timestamp_ms), start_offset))
    if start is None:
        return None
    expected = start.base_offset
    for batch, right in segment.chained(segment.walk(start.position), expected):
        check()
        data = segment.read_batch(batch)
        if not right or len(data) < batch.size or not checksum_right(batch, data):
            raise CorruptRecords(f"{segment.path(LOG)}: the batch at {batch.position} is damaged")
        if batch.max_timestamp >= timestamp_ms:
            record = record_lookup.first_at_or_after(data, timestamp_ms, start_offset, limit_bytes)
            if record is not None:
                return record
    return None


def newest(
    segments: Sequence[LogSegment],
    start_offset: int,
    limit_bytes: int = LIMIT_BYTES,
    check: Callable[[], None] = go_on,
) -> Record | None:
    """Return the first record with the largest timestamp, of those from *start_offset* on.

    :param segments: those with such records, oldest first.
    :param check: called between two segments; what it raises ends the search.
    :raises CorruptRecords: the batch that holds it is damaged.
    """
    found: Record | None = None
    for segment in segments:
        check()
        if segment.incomplete:
            raise CorruptRecords(f"{segment.path(LOG)} is damaged")
        if found is None or segment.max_timestamp > found.timestamp:
            try:
                found = _newest_in(segment, start_offset, limit_bytes) or found
            except FileNotFoundError:
                continue  # retention was faster
    return found


def _newest_in(segment: LogSegment, start_offset: int, limit_bytes: int) -> Record | None:
    holder = segment.find(max(segment.max_timestamp_offset, start_offset))
    if holder is None:
        return None
    candidates = [holder]
    if min(holder.base_offset, segment.max_timestamp_offset) < start_offset:
        # The log starts at the newest record's batch, or after it: it may be any that follows.
        first, *others = segment.walk(segment.position_of(start_offset))
        candidates = [first, max(others, key=_max_timestamp)] if others else [first]
    return record_lookup.newest_of(
        [record_lookup.newest(segment.read_batch(batch), start_offset, limit_bytes) for batch in candidates]
    )


def _max_timestamp(batch: Shallow) -> int:
    return batch.max_timestamp
