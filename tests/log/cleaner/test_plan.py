"""Tests of the plan: the log to clean, and the range of offsets."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import CorruptRecords
from kafkatx.log.cleaner.plan import Cleanable, cleanable

NOW = 1_000_000


@attrs.define
class FakeSegment:
    """A segment with the facts that the plan uses."""

    base_offset: int
    size: int
    max_timestamp_ms: int = 0
    first_ms: int = 0
    damaged: bool = False

    def walk(self) -> Any:
        """The first batch."""
        if self.damaged:
            raise CorruptRecords("damaged")
        if self.size:
            yield FakeBatch(self.first_ms)


@attrs.define
class FakeBatch:
    """A batch's header."""

    max_timestamp: int


def planned(segments: list[FakeSegment], first_dirty: int, flushed: int = 10**6, **config: Any) -> Cleanable:
    """Return the range that can be cleaned."""
    some: Any = segments
    return cleanable(some, first_dirty, flushed, LogConfig(**config), NOW)


class CleanableTests(SynchronousTestCase):
    """The range and the ratio."""

    def setUp(self) -> None:
        """Three closed segments and an active one."""
        self.segments = [
            FakeSegment(0, 100, 500),
            FakeSegment(10, 300, 900),
            FakeSegment(20, 600, 700),
            FakeSegment(30, 5000, 5000),
        ]

    def test_all_dirty(self) -> None:
        """A log that was never cleaned is dirty up to its active segment."""
        self.assertEqual(planned(self.segments, 0), Cleanable(0, 30, 1.0, False))

    def test_ratio(self) -> None:
        """The ratio is that of the dirty bytes to all but the active segment's."""
        self.assertEqual(planned(self.segments, 20).ratio, 0.6)
        self.assertEqual(planned(self.segments, 15).ratio, 0.9)

    def test_nothing_dirty(self) -> None:
        """A log that is clean up to its active segment has nothing to be cleaned."""
        found = planned(self.segments, 30)
        self.assertEqual((found.ratio, found.end_offset), (0.0, 30))
        self.assertFalse(found.due(LogConfig(min_cleanable_dirty_ratio=0.0)))
        self.assertFalse(planned(self.segments[:1], 0).due(LogConfig(min_cleanable_dirty_ratio=0.0)))

    def test_due(self) -> None:
        """A log is cleaned above its ratio, not at it."""
        found = planned(self.segments, 20)
        self.assertFalse(found.due(LogConfig(min_cleanable_dirty_ratio=0.6)))
        self.assertTrue(found.due(LogConfig(min_cleanable_dirty_ratio=0.59)))

    def test_log_start_has_passed(self) -> None:
        """The clean part may be deleted already."""
        self.assertEqual(planned(self.segments[1:], 5).first_dirty_offset, 10)

    def test_too_young(self) -> None:
        """A dirty segment with a record younger than min.compaction.lag.ms ends the range."""
        lag = NOW - 800
        self.assertEqual(planned(self.segments, 0, min_compaction_lag_ms=lag).end_offset, 10)
        self.assertEqual(planned(self.segments, 20, min_compaction_lag_ms=lag).end_offset, 30)
        self.assertEqual(planned(self.segments, 0, min_compaction_lag_ms=NOW - 900).end_offset, 30)

    def test_not_synced(self) -> None:
        """Unsynced records end the range: recovery would take gaps in them for damage."""
        self.assertEqual(planned(self.segments, 0, flushed=29).end_offset, 20)
        self.assertEqual(planned(self.segments, 0, flushed=30).end_offset, 30)

    def test_overdue(self) -> None:
        """Records older than max.compaction.lag.ms are cleaned at any ratio, unless they have no time."""
        config = LogConfig(max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1.0)
        for first_ms, due in ((NOW - 1001, True), (NOW - 1000, False), (-1, False)):
            self.segments[1].first_ms = first_ms
            found = planned(self.segments, 10, max_compaction_lag_ms=1000)
            self.assertEqual(found.due(config), due, first_ms)
        self.assertFalse(planned(self.segments, 10).overdue)
        self.segments[1].damaged = True
        self.assertFalse(planned(self.segments, 10, max_compaction_lag_ms=1000).overdue)
