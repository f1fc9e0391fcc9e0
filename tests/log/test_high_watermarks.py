"""Tests of kafkatx.log.high_watermarks."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.high_watermarks import HighWatermarks
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@attrs.define
class Log:
    """A log with an end."""

    topic_partition: TopicPartition
    log_end_offset: int


class HighWatermarksTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two logs, one with a high watermark."""
        self.known, self.other = Log(T0, 10), Log(T1, 10)
        self.offsets = HighWatermarks()
        self.offsets.add({T0: 7})

    def test_unknown(self) -> None:
        """A log that no high watermark was given for has none, and a log that is not open neither."""
        self.assertEqual([self.offsets.of(log) for log in (self.known, self.other, None)], [7, -1, -1])
        self.assertEqual(self.offsets.of_each([self.known, self.other]), {T0: 7})

    def test_end(self) -> None:
        """It is never above the log's end; that rises without it after a cut."""
        self.known.log_end_offset = 4
        self.assertEqual(self.offsets.of(self.known), 4)
        self.offsets.lower(self.known)
        self.known.log_end_offset = 20
        self.assertEqual(self.offsets.of(self.known), 4)
        self.offsets.lower(self.other)
        self.assertEqual(self.offsets.of(self.other), -1)

    def test_forgotten(self) -> None:
        """A log that is deleted takes its own with it."""
        self.offsets.add({T1: 3})
        self.offsets.forget(T0)
        self.offsets.forget(T0)
        self.assertEqual(self.offsets.of_each([self.known, self.other]), {T1: 3})
        self.offsets.clear()
        self.assertEqual(self.offsets.of_each([self.known, self.other]), {})


class RestoreTests(SynchronousTestCase):
    def test_lost_records(self) -> None:
        """A saved one above its log's end is lowered for good: records that come later are not committed."""
        log = Log(T0, 3)
        known = HighWatermarks()
        self.assertTrue(known.restore({T0: 5}, {T0: log}))
        log.log_end_offset = 9
        self.assertEqual(known.of(log), 3)

    def test_whole_logs(self) -> None:
        """Others are taken as they are, and those of logs that are not here are left out."""
        logs = {T0: Log(T0, 5)}
        known = HighWatermarks()
        self.assertFalse(known.restore({T0: 5, T1: 9}, logs))
        self.assertEqual(known.of_each([*logs.values(), Log(T1, 9)]), {T0: 5})
