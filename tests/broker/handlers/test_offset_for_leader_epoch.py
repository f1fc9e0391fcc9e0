"""OffsetForLeaderEpoch: the end offset of an epoch."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.running import BrokerTestCase

VERSIONS = range(5)


class OffsetForLeaderEpochTests(BrokerTestCase):
    def setUp(self) -> None:
        """Write records in three epochs."""
        super().setUp()
        (self.partition,) = self.make_topic()
        for epoch, count in ((0, 2), (3, 1), (5, 4)):
            self.partition.leader_epoch = epoch
            for _ in range(count):
                self.fill(b"v")

    def ask_one(
        self, leader_epoch: int, version: int = 4, topic: str = "t", number: int = 0, current: int = -1
    ) -> EpochEndOffset:
        """Return the answer for one partition."""
        asked = [OffsetForLeaderTopic(topic, [OffsetForLeaderPartition(number, current, leader_epoch)])]
        response = self.ask(23, version, OffsetForLeaderEpochRequest(topics=asked))
        result: EpochEndOffset = response.topics[0].partitions[0]
        return result

    def test_ends(self) -> None:
        """The largest epoch not above the requested one is returned with its end, or -1 if there is none."""
        for asked, epoch, end in ((0, 0, 2), (1, 0, 2), (3, 3, 3), (4, 3, 3), (5, 5, 7), (-1, -1, -1)):
            for version in VERSIONS:
                result = self.ask_one(asked, version)
                self.assertEqual(result.error_code, 0)
                self.assertEqual(
                    (result.leader_epoch, result.end_offset), (epoch if version else -1, end), asked
                )

    def test_newer_epoch(self) -> None:
        """An epoch that has not begun has no epoch, no end and no error."""
        result = self.ask_one(6)
        self.assertEqual((result.error_code, result.leader_epoch, result.end_offset), (0, -1, -1))

    def test_current_epoch_without_records(self) -> None:
        """The current epoch ends at the log end offset, even if it has no records."""
        self.partition.leader_epoch = 8
        result = self.ask_one(8)
        self.assertEqual((result.leader_epoch, result.end_offset), (8, 7))

    def test_errors(self) -> None:
        """Unknown partitions, and from version 2 on wrong current leader epochs, are refused."""
        for topic, number in (("u", 0), ("t", 1), ("t", -1)):
            result = self.ask_one(0, topic=topic, number=number)
            self.assertEqual(result.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            self.assertEqual((result.leader_epoch, result.end_offset), (-1, -1))
        for current, code in (
            (4, ErrorCode.FENCED_LEADER_EPOCH),
            (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
            (5, 0),
        ):
            self.assertEqual(self.ask_one(0, current=current).error_code, code)
