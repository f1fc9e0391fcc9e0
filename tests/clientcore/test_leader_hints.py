"""Tests of kafkatx.clientcore.leader_hints: new leaders from replies of Produce and Fetch."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.leader_hints import LeaderHints, follow, of_fetch, of_produce
from kafkatx.clientcore.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from kafkatx.wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ONE, TWO = BrokerNode(1, "one", 9092), BrokerNode(2, "two", 9093, "rack")
KNOWN = ClusterMetadata(
    {1: ONE},
    topics={"t": TopicMetadata("t", {0: PartitionMetadata(0, 1, 5), 1: PartitionMetadata(1, 1, 5)})},
)
ENDPOINT = NodeEndpoint(2, "two", 9093, "rack")


class LeaderHintsTests(SynchronousTestCase):
    def test_later_epoch(self) -> None:
        """A later leader and its address are taken over; other partitions stay."""
        found = follow(KNOWN, LeaderHints({T0: (2, 6)}, {2: TWO}))
        self.assertEqual(found.brokers, {1: ONE, 2: TWO})
        partitions = found.topics["t"].partitions
        self.assertEqual([(p.leader, p.leader_epoch) for p in partitions.values()], [(2, 6), (1, 5)])

    def test_new_address(self) -> None:
        """A leader that is known by another address gets the one that is told."""
        moved = BrokerNode(1, "elsewhere", 9092)
        self.assertEqual(follow(KNOWN, LeaderHints({T0: (1, 6)}, {1: moved})).brokers, {1: moved})

    def test_nothing_new(self) -> None:
        """Earlier and equal epochs, unknown partitions, and leaders without an address change nothing."""
        for leaders in (
            {T0: (2, 5)},
            {T0: (2, 4)},
            {T0: (2, -1)},
            {TopicPartition("t", 9): (2, 6)},
            {TopicPartition("other", 0): (2, 6)},
            {T0: (3, 6)},
        ):
            self.assertIs(follow(KNOWN, LeaderHints(leaders, {2: TWO})), KNOWN)

    def test_produce(self) -> None:
        """A produce reply names leaders for some partitions."""
        parts = [
            PartitionProduceResponse(0, 6, -1, current_leader=LeaderIdAndEpoch(2, 6)),
            PartitionProduceResponse(1, 0, 10),
        ]
        response = ProduceResponse([TopicProduceResponse("t", parts)], node_endpoints=[ENDPOINT])
        self.assertEqual(of_produce(response), LeaderHints({T0: (2, 6)}, {2: TWO}))
        self.assertIsNone(of_produce(ProduceResponse([TopicProduceResponse("t", parts)])))

    def test_fetch(self) -> None:
        """A fetch reply names topics or their ids."""
        topic_id = uuid.UUID(int=7)
        part = PartitionData(0, 6, -1, current_leader=LeaderIdAndEpoch(2, 6))
        for topic in (
            FetchableTopicResponse("t", partitions=[part]),
            FetchableTopicResponse("", topic_id, [part]),
        ):
            response = FetchResponse(responses=[topic], node_endpoints=[ENDPOINT])
            self.assertEqual(of_fetch(response, {topic_id: "t"}), LeaderHints({T0: (2, 6)}, {2: TWO}))
        self.assertIsNone(of_fetch(FetchResponse(responses=[topic]), {}))
