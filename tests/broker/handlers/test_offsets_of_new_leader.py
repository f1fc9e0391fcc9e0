"""ListOffsets and OffsetForLeaderEpoch of a leader that has just been elected (KIP-207, KIP-320)."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.wire.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.replicated import ReplicatedTestCase
from tests.broker.running import NOW_MS


class NewLeaderTests(ReplicatedTestCase):
    def setUp(self) -> None:
        """Make a topic with two committed records and one that is not; this broker leads in epoch 1 then."""
        super().setUp()
        (self.partition,) = self.make_replicated()
        for number in range(3):
            self.produce(build_values([b"v"], NOW_MS + number), acks=1)
        self.replicate(self.partition, 2)
        self.metadata.replicate("t", leader_epoch=1)

    def offset(self, timestamp: int, version: int = 7) -> tuple[int, int]:
        """Return error and offset for a timestamp."""
        asked = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, timestamp)])]
        part = self.ask(2, version, ListOffsetsRequest(-1, 0, asked)).topics[0].partitions[0]
        return part.error_code, part.offset

    def end_of(self, leader_epoch: int) -> tuple[int, int]:
        """Return the epoch and the end that OffsetForLeaderEpoch gives."""
        asked = [OffsetForLeaderTopic("t", [OffsetForLeaderPartition(0, -1, leader_epoch)])]
        part = self.ask(23, 4, OffsetForLeaderEpochRequest(topics=asked)).topics[0].partitions[0]
        self.assertEqual(part.error_code, 0)
        return part.leader_epoch, part.end_offset

    def test_latest(self) -> None:
        """The end is not available until the high watermark is at the start of the epoch."""
        self.assertEqual(self.offset(LATEST_TIMESTAMP, 5), (ErrorCode.OFFSET_NOT_AVAILABLE, -1))
        self.assertEqual(self.offset(LATEST_TIMESTAMP, 4), (ErrorCode.LEADER_NOT_AVAILABLE, -1))
        self.replicate(self.partition, 3)
        for version in (4, 5):
            self.assertEqual(self.offset(LATEST_TIMESTAMP, version), (0, 3))

    def test_times(self) -> None:
        """Records that are committed for certain are found; whether there are later ones is not known."""
        self.assertEqual(self.offset(NOW_MS + 1), (0, 1))
        self.assertEqual(self.offset(NOW_MS + 2), (ErrorCode.OFFSET_NOT_AVAILABLE, -1))
        self.assertEqual(self.offset(NOW_MS + 9), (ErrorCode.OFFSET_NOT_AVAILABLE, -1))
        self.assertEqual(self.offset(MAX_TIMESTAMP), (ErrorCode.OFFSET_NOT_AVAILABLE, -1))
        self.replicate(self.partition, 3)
        self.assertEqual(self.offset(NOW_MS + 2), (0, 2))
        self.assertEqual(self.offset(NOW_MS + 9), (0, -1))

    def test_earliest(self) -> None:
        """The start is known at once."""
        self.assertEqual(self.offset(EARLIEST_TIMESTAMP), (0, 0))

    def test_version_0(self) -> None:
        """Version 0 gives no offset above the high watermark."""
        asked = [ListOffsetsTopic("t", [ListOffsetsPartition(0, -1, LATEST_TIMESTAMP, 10)])]
        part = self.ask(2, 0, ListOffsetsRequest(-1, 0, asked)).topics[0].partitions[0]
        self.assertEqual(part.old_style_offsets, [2, 0])

    def test_epochs(self) -> None:
        """The current epoch ends at the log end; one without records is forgotten when the next begins."""
        self.assertEqual([self.end_of(epoch) for epoch in (0, 1, 2)], [(0, 3), (1, 3), (-1, -1)])
        self.metadata.replicate("t", leader_epoch=4)
        self.produce(build_values([b"v"], NOW_MS), acks=1)
        found = [self.end_of(epoch) for epoch in (0, 1, 3, 4, 5)]
        self.assertEqual(found, [(0, 3), (0, 3), (0, 3), (4, 4), (-1, -1)])
