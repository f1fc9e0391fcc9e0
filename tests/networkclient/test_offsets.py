"""Tests of kafkatx.networkclient.offsets."""

from __future__ import annotations

from typing import Any

from kafkatx.clientcore.consumer.leader_epochs import EpochQuery
from kafkatx.clientcore.errors import ConnectionFailed, UnknownTopic
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST, OffsetAndTimestamp
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient import offsets
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkatx.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.networkclient.case import ClusterTestCase

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class OffsetsTests(ClusterTestCase):
    def setUp(self) -> None:
        """Make leaders that answer 10 times the partition's number plus their node id, or an error code."""
        super().setUp()
        self.codes: dict[int, int] = {}
        self.left_out: set[int] = set()
        self.network.answers[ListOffsetsRequest] = self.list_offsets
        self.run_(self.cluster.topic("t"))

    def list_offsets(self, node: int, request: Any, version: int) -> ListOffsetsResponse:
        """Return the response of one leader."""
        (topic,) = request.topics
        answers = [
            ListOffsetsPartitionResponse(
                partition_index=part.partition_index,
                error_code=self.codes.get(part.partition_index, 0),
                offset=10 * part.partition_index + node,
                timestamp=part.timestamp,
                leader_epoch=4,
            )
            for part in topic.partitions
            if part.partition_index not in self.left_out
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=answers)])

    def look_up(self) -> Any:
        """Look up both partitions, once."""
        return self.run_(offsets.look_up(self.cluster, {FIRST: EARLIEST, SECOND: LATEST}))

    def test_each_leader(self) -> None:
        """Each leader gets one request for its partitions."""
        found = self.look_up()
        self.assertEqual(found, {FIRST: OffsetAndTimestamp(1, -2, 4), SECOND: OffsetAndTimestamp(12, -1, 4)})
        self.assertEqual([node for node, _ in self.network.requests[-2:]], [1, 2])

    def test_errors(self) -> None:
        """An error belongs to its partition, that of a broker to all of its partitions."""
        self.codes[0] = ErrorCode.NOT_LEADER_OR_FOLLOWER
        self.network.kill(2)
        found = self.look_up()
        self.assertIs(found[FIRST].code, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertIsInstance(found[SECOND], ConnectionFailed)
        self.assertRaises(RequestError, offsets.all_found, found)
        self.network.down.clear()

    def test_no_leader(self) -> None:
        """A partition without a leader is not asked for."""
        found = self.run_(offsets.look_up(self.cluster, {TopicPartition("t", 9): LATEST}))
        self.assertIs(found["t", 9].code, ErrorCode.LEADER_NOT_AVAILABLE)

    def test_left_out(self) -> None:
        """A partition that the reply leaves out has no offset."""
        self.left_out.add(0)
        self.assertEqual(self.look_up()[FIRST], OffsetAndTimestamp(-1, -1))

    def test_retries(self) -> None:
        """offsets_of repeats a lookup until every partition has an offset."""
        self.codes[0] = ErrorCode.NOT_LEADER_OR_FOLLOWER
        self.network.clock.callLater(1, self.codes.clear)
        found = self.run_(offsets.offsets_of(self.cluster, {FIRST: LATEST}), 3)
        self.assertEqual(found[FIRST].offset, 1)

    def test_unknown_topic(self) -> None:
        """offsets_of fails for an unknown topic."""
        self.brokers.auto_create = False
        lookup = offsets.offsets_of(self.cluster, {TopicPartition("none", 0): LATEST})
        self.assertRaises(UnknownTopic, self.run_, lookup, 10)

    def test_epochs_of_old_brokers(self) -> None:
        """A leader without a suitable OffsetForLeaderEpoch is not asked, and gives UNSUPPORTED_VERSION."""
        self.network.newest[OffsetForLeaderEpochRequest] = -1
        other = self.network.started()
        self.run_(other.topic("t"))
        found = self.run_(offsets.epoch_ends(other, {FIRST: EpochQuery(5, 3)}))
        self.assertIs(found[FIRST].code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertEqual(self.network.sent(OffsetForLeaderEpochRequest), [])
        self.network.result(other.close())
