"""The log lines about deleted segments: their number, size and reason."""

from __future__ import annotations

import errno
from typing import Any

import attrs
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.logs.deletions import MAX_LINES, Deleted, RetentionRound, retention_reason
from kafkatx.config.log_config import LogConfig
from kafkatx.types import TopicPartition

NOW_MS = 1_700_000_000_000


@attrs.define
class FakeSegment:
    """A segment of 100 bytes and 10 records."""

    base_offset: int
    max_timestamp_ms: int = NOW_MS
    size_bytes: int = 100


class RenamedSegment(FakeSegment):
    """A segment whose timestamp is that of a renamed file."""

    def __getattribute__(self, name: str) -> Any:
        if name == "max_timestamp_ms":
            raise FileNotFoundError(errno.ENOENT, "renamed")
        return super().__getattribute__(name)


class FakeLog:
    """A log with segments; ``retain`` drops the first *drops* of them, then raises *error*."""

    def __init__(self, segments: int = 5, drops: int = 0, error: Exception | None = None) -> None:
        self.config = LogConfig()
        self.segments = [FakeSegment(10 * number) for number in range(segments)]
        self._drops = drops
        self._error = error

    @property
    def size_bytes(self) -> int:
        """The size of all segments in bytes."""
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def log_start_offset(self) -> int:
        """The first offset."""
        return self.segments[0].base_offset

    def retain(self, now_ms: int) -> int:
        """Drop segments."""
        del self.segments[: self._drops]
        if self._error is not None:
            raise self._error
        return self._drops


class DeletedTests(SynchronousTestCase):
    def test_counts(self) -> None:
        """The deleted segments and bytes of the block are counted, and the newest is known."""
        log: Any = FakeLog(drops=2)
        deleted = Deleted(log)
        with deleted:
            log.retain(NOW_MS)
        self.assertEqual((deleted.segments, deleted.size_bytes), (2, 200))
        assert deleted.newest is not None
        self.assertEqual(deleted.newest.base_offset, 10)

    def test_nothing(self) -> None:
        """A block that deletes no segment counts none."""
        log: Any = FakeLog()
        deleted = Deleted(log)
        with deleted:
            pass
        self.assertEqual((deleted.segments, deleted.size_bytes, deleted.newest), (0, 0, None))

    def test_raises(self) -> None:
        """Segments deleted before the block raised are counted, and the error is raised."""
        log: Any = FakeLog(drops=3, error=OSError(errno.ENOSPC, "full"))
        deleted = Deleted(log)
        with self.assertRaises(OSError), deleted:
            log.retain(NOW_MS)
        self.assertEqual((deleted.segments, deleted.size_bytes), (3, 300))


class ReasonTests(SynchronousTestCase):
    def reason(self, age_ms: int, **config: Any) -> str:
        """Return the reason for a deletion whose newest segment has an age."""
        segment: Any = FakeSegment(0, NOW_MS - age_ms)
        return retention_reason(LogConfig(**config), segment, NOW_MS)

    def test_one_limit(self) -> None:
        """The only limit that is set is the reason, whatever the age of the records."""
        self.assertEqual(self.reason(0, retention_ms=5), "retention.ms=5")
        self.assertEqual(self.reason(9, retention_ms=-1, retention_bytes=7), "retention.bytes=7")

    def test_both_limits(self) -> None:
        """The age of the newest deleted segment decides between two limits."""
        for age_ms, reason in ((6, "retention.ms=5"), (5, "retention.bytes=7")):
            self.assertEqual(self.reason(age_ms, retention_ms=5, retention_bytes=7), reason)

    def test_policies(self) -> None:
        """A policy with one limit names that limit; a plugin's policy is named itself."""
        both = {"retention_ms": 5, "retention_bytes": 7}
        self.assertEqual(self.reason(0, retention_policy="time", **both), "retention.ms=5")
        self.assertEqual(self.reason(9, retention_policy="size", **both), "retention.bytes=7")
        self.assertEqual(self.reason(9, retention_policy="mine", **both), "kafkatx.retention=mine")

    def test_renamed_file(self) -> None:
        """Both limits are named if the age of the segment is unknown."""
        config = LogConfig(retention_ms=5, retention_bytes=7)
        segment: Any = RenamedSegment(0)
        self.assertEqual(retention_reason(config, segment, NOW_MS), "retention.ms=5 or retention.bytes=7")


class RetentionRoundTests(SynchronousTestCase):
    def lines(self, *logs: Any) -> list[str]:
        """Return the log lines of a round over some logs, all at level info."""
        retention = RetentionRound(NOW_MS)
        with capturedLogs() as events:
            for number, log in enumerate(logs):
                retention.retain(TopicPartition("t", number), log)
            retention.end()
        self.assertEqual({event["log_level"] for event in events} - {LogLevel.info}, set())
        return [formatEvent(event) for event in events]

    def test_line(self) -> None:
        """The log line has the partition, the segments, the bytes, the reason and the new start."""
        log = FakeLog(drops=2)
        log.config = LogConfig(retention_ms=5)
        self.assertEqual(
            self.lines(log),
            [
                "retention of t-0 deleted 2 segments, 200 bytes, by retention.ms=5; the log starts at offset"
                " 20 now"
            ],
        )

    def test_nothing(self) -> None:
        """A round that deletes no segment writes no line."""
        self.assertEqual(self.lines(*(FakeLog() for _ in range(3))), [])

    def test_many_partitions(self) -> None:
        """A round over many partitions writes a limited number of lines, and the sum of the others."""
        lines = self.lines(*(FakeLog(drops=2) for _ in range(MAX_LINES + 3)))
        self.assertEqual(len(lines), MAX_LINES + 1)
        self.assertEqual(lines[-1], "retention of 3 more partitions deleted 6 segments, 600 bytes")

    def test_error(self) -> None:
        """An error is raised after the line about the segments deleted before it."""
        retention = RetentionRound(NOW_MS)
        log: Any = FakeLog(drops=1, error=OSError(errno.ENOSPC, "full"))
        with capturedLogs() as events:
            self.assertRaises(OSError, retention.retain, TopicPartition("t", 0), log)
        self.assertEqual([event["segments"] for event in events], [1])
