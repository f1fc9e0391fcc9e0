"""The high watermarks that a store knows."""

from __future__ import annotations

from attrs import define
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.high_watermarks import HighWatermarks
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@define
class Log:
    """A log with an end."""

    topic_partition: TopicPartition
    log_end_offset: int


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
