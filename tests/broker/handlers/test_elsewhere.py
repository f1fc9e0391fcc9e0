"""Requests for partitions that other brokers lead: each handler refuses them, so that clients look again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import build_values
from kafkatx.types import NO_LEADER
from kafkatx.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkatx.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.broker.cluster import ClusterTestCase
from tests.broker.running import NOW_MS

NUMBERS = range(4)
ELSEWHERE = ErrorCode.NOT_LEADER_OR_FOLLOWER
EXPECTED = [ErrorCode.NONE, ELSEWHERE, ELSEWHERE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
"""Partition 0 is led here, 1 elsewhere, 2 is here without a leader, and there is no partition 3."""


class ElsewhereTests(ClusterTestCase):
    def setUp(self) -> None:
        """Make the partitions, and a record in the first."""
        super().setUp()
        self.topic = self.metadata.make_topic("t", [[1], [2], [1]])
        self.metadata.put(self.topic)
        self.metadata.lead("t", 2, NO_LEADER)
        self.fill(b"v")

    def codes(self, partitions: Sequence[Any]) -> list[int]:
        """Return the error of each partition."""
        return [partition.error_code for partition in partitions]

    def test_produce(self) -> None:
        """Produce refuses them, alone and with others in one request."""
        records = build_values([b"v"], NOW_MS)
        self.assertEqual([self.produce(records, partition=n).error_code for n in NUMBERS], EXPECTED)
        data = [PartitionProduceData(n, records) for n in NUMBERS]
        response = self.ask(0, 9, ProduceRequest(None, 1, 1000, [TopicProduceData("t", data)]))
        self.assertEqual(self.codes(response.responses[0].partition_responses), EXPECTED)
        self.assertEqual(self.stored(), [b"v"] * 3)

    def fetch(self, version: int, topic: FetchTopic) -> list[int]:
        """Fetch every partition; return the errors."""
        topic.partitions = [FetchPartition(n) for n in NUMBERS]
        response = self.ask(1, version, FetchRequest(max_wait_ms=1000, min_bytes=1, topics=[topic]))
        return self.codes(response.responses[0].partitions)

    def test_fetch(self) -> None:
        """Fetch refuses them at once, by name and by topic id."""
        for version in (4, 12):
            self.assertEqual(self.fetch(version, FetchTopic("t")), EXPECTED)
        self.assertEqual(self.fetch(13, FetchTopic(topic_id=self.topic.topic_id)), EXPECTED)

    def test_list_offsets(self) -> None:
        """ListOffsets refuses them in all versions."""
        asked = [ListOffsetsPartition(n, timestamp=-1, max_num_offsets=1) for n in NUMBERS]
        for version in (0, 1, 7):
            request = ListOffsetsRequest(topics=[ListOffsetsTopic("t", asked)])
            response = self.ask(2, version, request)
            self.assertEqual(self.codes(response.topics[0].partitions), EXPECTED)

    def test_delete_records(self) -> None:
        """DeleteRecords refuses them: nothing is deleted."""
        asked = [DeleteRecordsPartition(n, 0) for n in NUMBERS]
        response = self.ask(21, 2, DeleteRecordsRequest([DeleteRecordsTopic("t", asked)]))
        self.assertEqual(self.codes(response.topics[0].partitions), EXPECTED)

    def test_offset_for_leader_epoch(self) -> None:
        """OffsetForLeaderEpoch refuses them: only the leader knows the end of an epoch."""
        asked = [OffsetForLeaderPartition(n, -1, 0) for n in NUMBERS]
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("t", asked)])
        self.assertEqual(self.codes(self.ask(23, 3, request).topics[0].partitions), EXPECTED)

    def test_describe_producers(self) -> None:
        """DescribeProducers refuses them, with a reason."""
        request = DescribeProducersRequest([TopicRequest("t", list(NUMBERS))])
        partitions = self.ask(61, 0, request).topics[0].partitions
        self.assertEqual(self.codes(partitions), EXPECTED)
        self.assertTrue(all(one.error_message for one in partitions[1:]))

    def test_old_epoch(self) -> None:
        """A client that knows an older leader is told so only by the leader."""
        self.metadata.lead("t", 0, 1)
        asked = [FetchPartition(n, current_leader_epoch=0) for n in (0, 2)]
        response = self.ask(1, 12, FetchRequest(topics=[FetchTopic("t", partitions=asked)]))
        errors = [ErrorCode.FENCED_LEADER_EPOCH, ELSEWHERE]
        self.assertEqual(self.codes(response.responses[0].partitions), errors)
