"""Log lines that tell which segments were deleted, and why: by retention, DeleteRecords or DeleteTopics.

Pure, but for the logs that it is handed. One line per partition and round, not per segment; a round of
retention writes at most :data:`MAX_LINES` of them, and then their sum.
"""

from __future__ import annotations

from types import TracebackType

import attrs
from twisted.logger import Logger

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IPartitionLog, ISegmentFacts
from kafkatx.types import TopicPartition

MAX_LINES = 20
"""Partitions that one round of retention names in the log."""


@attrs.define
class Deleted:
    """The segments that a block has deleted at the start of a log; a context manager around the deletion.

    The counts are right also if the block raises after it has deleted some of the segments.

    :ivar segments: the number of segments.
    :ivar size_bytes: their size.
    :ivar newest: the newest of the segments; None if there is none.
    """

    log: IPartitionLog
    segments: int = 0
    size_bytes: int = 0
    newest: ISegmentFacts | None = None
    _before: tuple[ISegmentFacts, ...] = ()
    _bytes_before: int = 0

    def __enter__(self) -> Deleted:
        self._before = tuple(self.log.segments)
        self._bytes_before = self.log.size_bytes
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        first_kept = self.log.segments[0].base_offset if self.log.segments else self.log.log_end_offset
        deleted = [segment for segment in self._before if segment.base_offset < first_kept]
        self._before = ()
        self.segments = len(deleted)
        if deleted:
            self.size_bytes = self._bytes_before - self.log.size_bytes
            self.newest = deleted[-1]


def retention_reason(config: LogConfig, newest: ISegmentFacts, now_ms: int) -> str:
    """Return the setting that made retention delete segments.

    :param newest: the newest of the deleted segments.
    """
    by_time, by_size = f"retention.ms={config.retention_ms}", f"retention.bytes={config.retention_bytes}"
    if config.retention_policy not in ("time", "size", "time+size"):
        return f"kafkatx.retention={config.retention_policy}"
    if config.retention_policy == "time" or config.retention_bytes < 0:
        return by_time
    if config.retention_policy == "size" or config.retention_ms < 0:
        return by_size
    try:
        is_old = now_ms - newest.max_timestamp_ms > config.retention_ms
    except OSError:  # without a timestamp of its own it has that of its file, which is renamed by now
        return f"{by_time} or {by_size}"
    return by_time if is_old else by_size


class RetentionRound:
    """One round of retention over the logs of a broker.

    :param now_ms: the time of the round, by the wall clock.
    """

    _log = Logger()

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._lines = 0
        self._left_out = self._segments = self._bytes = 0

    def retain(self, name: TopicPartition, log: IPartitionLog) -> None:
        """Delete the segments of a log that its retention policy lets go, and log their number.

        :raises OSError: as ``IPartitionLog.retain`` does.
        """
        deleted = Deleted(log)
        try:
            with deleted:
                log.retain(self._now_ms)
        finally:
            if deleted.newest is not None:
                self._tell(name, log, deleted, deleted.newest)

    def _tell(
        self, name: TopicPartition, log: IPartitionLog, deleted: Deleted, newest: ISegmentFacts
    ) -> None:
        if self._lines >= MAX_LINES:
            self._left_out += 1
            self._segments += deleted.segments
            self._bytes += deleted.size_bytes
            return
        self._lines += 1
        self._log.info(
            "retention of {partition} deleted {segments} segments, {size} bytes, by {reason}; the log starts"
            " at offset {start} now",
            partition=name,
            segments=deleted.segments,
            size=deleted.size_bytes,
            reason=retention_reason(log.config, newest, self._now_ms),
            start=log.log_start_offset,
        )

    def end(self) -> None:
        """Log the sum of the partitions that have no line of their own."""
        if self._left_out:
            self._log.info(
                "retention of {count} more partitions deleted {segments} segments, {size} bytes",
                count=self._left_out,
                segments=self._segments,
                size=self._bytes,
            )
            self._left_out = self._segments = self._bytes = 0
