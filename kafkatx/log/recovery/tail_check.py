"""The check of the end of a segment and its two indexes: do they fit, and where does the segment end?

After a clean shutdown nothing else of a segment is read. Entries in the middle of an index are checked
when a lookup uses them (:mod:`kafkatx.log.segment.segment`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.segment.scan import Shallow, follows
from kafkatx.log.segment.segment import LogSegment
from kafkatx.types import NO_TIMESTAMP

_EVERY_HEADER_BYTES = 16 << 20
"""Bytes of a segment that are walked to check its time index; of a larger one, samples."""
_SAMPLES = 256


class Tail(NamedTuple):
    """The end of a segment: the offset after its last batch, and that batch; None if it is empty."""

    next_offset: int
    last: Shallow | None


def tail_of(segment: LogSegment) -> Tail:
    """Read the batches after the last index entry.

    :raises IndexDamaged: the index is missing or ends inside an entry.
    :raises CorruptRecords: there is damage, or offsets do not rise.
    """
    entry = segment.index.last_entry()
    return _tail(segment, list(segment.walk(entry[1] if entry else 0)))


def _tail(segment: LogSegment, batches: Sequence[Shallow]) -> Tail:
    if not batches:
        return Tail(segment.base_offset, None)
    expected = segment.base_offset if not batches[0].position else batches[0].base_offset
    for batch in batches:
        if not follows(batch, expected, segment.sparse_below):
            raise CorruptRecords(f"the batch at {batch.position} has offset {batch.base_offset}")
        expected = batch.last_offset + 1
    return Tail(expected, batches[-1])


def sound_tail(segment: LogSegment, config: LogConfig) -> Tail | None:
    """Return the end of a segment; None if the indexes do not end with what fits it.

    :raises IndexDamaged: a file is missing or ends inside an entry.
    :raises CorruptRecords: an index points where no batch is, or the log is damaged.
    """
    if not segment.size:
        return Tail(segment.base_offset, None)
    entry = segment.index.last_entry()
    position, offset = 0, segment.base_offset
    if entry is not None:
        position, offset = entry[1], segment.base_offset + entry[0]
        if not 0 < position < segment.size:
            return None
    # There should be an entry for a longer rest: the index is too short, or older than the log.
    longest = config.index_interval_bytes + 2 * max(config.max_message_bytes, 1 << 20)
    if segment.size - position > longest:
        return None
    rest = list(segment.walk(position))
    if entry is not None and all(batch.last_offset != offset for batch in rest):
        return None
    return _tail(segment, rest) if _time_index_sound(segment, rest, offset) else None


def _time_index_sound(segment: LogSegment, rest: Iterable[Shallow], offset: int) -> bool:
    """Return True if the last entry of the time index is the segment's newest batch.

    :param rest: the batches from the last entry of the offset index on.
    :param offset: the last offset of the first of them.
    """
    entry = segment.time_index.last_entry()
    timestamp, at = (NO_TIMESTAMP, segment.base_offset - 1)
    if entry is not None:
        timestamp, at = entry[0], segment.base_offset + entry[1]
    seen = entry is None
    if at < offset:
        rest = _early_newest(segment, at)
    for batch in rest:
        if batch.max_timestamp > timestamp:
            return False
        if batch.base_offset <= at <= batch.last_offset:
            seen = batch.max_timestamp == timestamp
    if not seen:
        return False
    segment.max_timestamp, segment.max_timestamp_offset = timestamp, max(at, segment.base_offset)
    return True


def _early_newest(segment: LogSegment, offset: int) -> Iterator[Shallow]:
    """Yield the batch of the time index's last entry and those after it; of many only samples."""
    holder = segment.find(max(offset, segment.base_offset))
    if holder is None:
        return
    yield holder
    if segment.size - holder.position <= _EVERY_HEADER_BYTES:
        yield from segment.walk(holder.position)
        return
    entries = segment.index.entries_in_file()
    for number in range(0, entries, entries // _SAMPLES + 1):
        _, position = segment.index.entry_in_file(number)
        if position > holder.position:
            yield next(segment.walk(position))
