"""Plans passes: chooses the log to clean and the range of offsets. Pure, except that it reads one header.

As in Apache Kafka's ``LogCleanerManager``::

    first dirty offset   the end of the last pass; the first segment's base offset if that is later
    end                  the first of: the active segment; a dirty segment with a record younger than
                         min.compaction.lag.ms; the flushed offset (recovery expects no gaps after it); the
                         last stable offset (what is above it may be truncated, or aborted)
    ratio                dirty bytes / (clean + dirty bytes), up to the end

A log is cleaned if its ratio is above min.cleanable.dirty.ratio, or a dirty record is older than
max.compaction.lag.ms. The log with the largest ratio is cleaned first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import attrs

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner.passes import Memory, Pass, Source
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.segment.segment import MAX_SEGMENT_BYTES, LogSegment

NEVER_MS = 2**63 - 1


@attrs.frozen
class Cleanable:
    """The range of a log that a pass would read. ``end_offset`` is exclusive and a segment's base offset."""

    first_dirty_offset: int
    end_offset: int
    ratio: float
    overdue: bool

    def due(self, config: LogConfig) -> bool:
        """Return True if the log is due for a pass."""
        return self.ratio > 0 and (self.overdue or self.ratio > config.min_cleanable_dirty_ratio)


def cleanable(
    segments: Sequence[LogSegment],
    first_dirty_offset: int,
    most_offset: int,
    config: LogConfig,
    now_ms: int,
) -> Cleanable:
    """Return the range of a log that can be cleaned.

    :param segments: all segments, oldest first, the last one active.
    :param most_offset: the least of the flushed offset and the last stable offset.
    """
    first_dirty_offset = max(first_dirty_offset, segments[0].base_offset)
    clean_bytes = dirty_bytes = 0
    end_offset = segments[0].base_offset
    oldest: LogSegment | None = None
    for segment, following in pairwise(segments):
        dirty = following.base_offset > first_dirty_offset
        if following.base_offset > most_offset or (dirty and _young(segment, config, now_ms)):
            break
        if dirty:
            dirty_bytes += segment.size
            oldest = oldest or segment
        else:
            clean_bytes += segment.size
        end_offset = following.base_offset
    ratio = dirty_bytes / (clean_bytes + dirty_bytes) if dirty_bytes else 0.0
    overdue = oldest is not None and _overdue(oldest, config, now_ms)
    return Cleanable(first_dirty_offset, end_offset, ratio, overdue)


def plan(log: FileLog, found: Cleanable, memory: Memory, name: str, now_ms: int) -> Pass:
    """Return a pass over the range that was found in a log."""
    return Pass(
        name=name,
        directory=log.directory,
        sources=tuple(
            Source(segment.base_offset, segment.size)
            for segment in log.segments[:-1]
            if segment.base_offset < found.end_offset
        ),
        first_dirty_offset=found.first_dirty_offset,
        end_offset=found.end_offset,
        now_ms=now_ms,
        delete_retention_ms=log.config.delete_retention_ms,
        memory_bytes=memory.memory_bytes,
        load_factor=memory.load_factor,
        segment_bytes=min(log.config.segment_bytes, MAX_SEGMENT_BYTES),
        segment_index_bytes=log.config.segment_index_bytes,
        index_interval_bytes=log.config.index_interval_bytes,
        last_offsets=log.last_batches(),
        marker_epochs=log.marker_epochs(),
        aborted=tuple(log.all_aborted(found.end_offset)),
        inflated_limit_bytes=log.config.inflated_limit_bytes,
    )


def _young(segment: LogSegment, config: LogConfig, now_ms: int) -> bool:
    lag_ms = config.min_compaction_lag_ms
    return lag_ms > 0 and segment.max_timestamp_ms > now_ms - lag_ms


def _overdue(segment: LogSegment, config: LogConfig, now_ms: int) -> bool:
    """Return True if the first batch of a segment is older than max.compaction.lag.ms."""
    if config.max_compaction_lag_ms == NEVER_MS:
        return False
    try:
        first = next(segment.walk(), None)
    except CorruptRecords:
        return False
    return first is not None and 0 < first.max_timestamp < now_ms - config.max_compaction_lag_ms
