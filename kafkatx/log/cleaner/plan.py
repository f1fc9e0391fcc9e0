"""Which log is worth a pass of the cleaner, from where to where, and what the pass is told.

Pure, but for one header that is read.

As in Apache Kafka's ``LogCleanerManager``::

    first dirty offset   what the last pass reached; the first segment's base offset if that is later
    end                  the first of: the active segment; a dirty segment with a record younger than
                         min.compaction.lag.ms; what is not synced yet (recovery must not meet gaps there)
    ratio                dirty bytes / (clean + dirty bytes), up to the end

A log is cleaned when its ratio is above min.cleanable.dirty.ratio, or something in it is older than
max.compaction.lag.ms. Of several the one with the largest ratio is first.
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
    """A range of a log: what a pass would read. ``end_offset`` is exclusive, a segment's base offset."""

    first_dirty_offset: int
    end_offset: int
    ratio: float
    overdue: bool

    def due(self, config: LogConfig) -> bool:
        """Whether a pass is to be made."""
        return self.ratio > 0 and (self.overdue or self.ratio > config.min_cleanable_dirty_ratio)


def cleanable(
    segments: Sequence[LogSegment],
    first_dirty_offset: int,
    flushed_offset: int,
    config: LogConfig,
    now_ms: int,
) -> Cleanable:
    """What could be cleaned of a log.

    :param segments: all of them, oldest first, the last one active.
    """
    first_dirty_offset = max(first_dirty_offset, segments[0].base_offset)
    clean_bytes = dirty_bytes = 0
    end_offset = segments[0].base_offset
    oldest: LogSegment | None = None
    for segment, following in pairwise(segments):
        dirty = following.base_offset > first_dirty_offset
        if following.base_offset > flushed_offset or (dirty and _young(segment, config, now_ms)):
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
    """A pass that cleans what was found in a log."""
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
        inflated_limit_bytes=log.config.inflated_limit_bytes,
    )


def _young(segment: LogSegment, config: LogConfig, now_ms: int) -> bool:
    lag_ms = config.min_compaction_lag_ms
    return lag_ms > 0 and segment.max_timestamp_ms > now_ms - lag_ms


def _overdue(segment: LogSegment, config: LogConfig, now_ms: int) -> bool:
    """Whether the first batch of a segment is older than max.compaction.lag.ms."""
    if config.max_compaction_lag_ms == NEVER_MS:
        return False
    try:
        first = next(segment.walk(), None)
    except CorruptRecords:
        return False
    return first is not None and 0 < first.max_timestamp < now_ms - config.max_compaction_lag_ms
