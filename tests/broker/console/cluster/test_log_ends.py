"""Ends of logs, of this broker and of others."""

from __future__ import annotations

import uuid
from typing import Any
from unittest.mock import Mock

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.cluster.log_ends import CHUNK, FORGOTTEN_S, KEPT_S, PATIENCE_S, Ends, LogEnds
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode, ClusterState, PartitionState, Topic, TopicPartition
from kafkatx.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafkatx.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)


class LeaderCase(SynchronousTestCase):
    """Broker 1 has partition ``t-0``; broker 2 leads the others of ``t``, which are fakes."""

    def setUp(self) -> None:
        """Make the brokers."""
        self.clock = Clock()
        self.asked: list[Any] = []
        self.silent = self.failing = False
        self.size = 5
        nodes = {1: BrokerNode(1, "a", 1), 2: BrokerNode(2, "b", 2)}
        states = tuple(
            PartitionState(1 if number == 0 else 2, 0, (1, 2), (1, 2)) for number in range(2 * CHUNK)
        )
        topics = {"t": Topic("t", uuid.uuid4(), states)}
        log = Mock(log_start_offset=1, size_bytes=100, written=Mock(bytes=100))
        own = Mock(log=log, high_watermark=9, last_stable_offset=8, offline=False)
        self.broker: Any = Mock(clock=self.clock, node_id=1)
        self.broker.metadata.state = ClusterState("c", 1, nodes, topics)
        self.broker.topics.find = lambda topic, number: own if (topic, number) == ("t", 0) else None
        self.peers: Any = Mock(request=self.request)
        self.ends = LogEnds(self.broker, self.peers)

    def request(self, node: BrokerNode, message: Any, version: int | None = None) -> Deferred[Any]:
        """Answer for broker 2: partition *n* is at *n*, to 1000 + *n*, of 5 bytes."""
        self.assertEqual(node.id, 2)
        self.asked.append(message)
        if self.silent:
            return Deferred()
        if self.failing:
            return fail(KafkaTXError("no connection"))
        return succeed(self.other(message))

    def other(self, message: Any) -> Any:
        """Return a response."""
        if isinstance(message, ListOffsetsRequest):
            return ListOffsetsResponse(topics=[self.offsets(each) for each in message.topics])
        assert isinstance(message, DescribeLogDirsRequest)
        assert message.topics is not None
        topics = [
            DescribeLogDirsTopic(
                each.topic, [DescribeLogDirsPartition(n, self.size) for n in each.partitions]
            )
            for each in message.topics
        ]
        return DescribeLogDirsResponse(results=[DescribeLogDirsResult(0, "/d", topics)])

    def offsets(self, topic: Any) -> ListOffsetsTopicResponse:
        """Return offsets; partition 7 has none."""
        return ListOffsetsTopicResponse(
            topic.name,
            [
                ListOffsetsPartitionResponse(
                    one.partition_index,
                    6 if one.partition_index == 7 else 0,
                    offset=one.partition_index + (0 if one.timestamp == -2 else 1000),
                )
                for one in topic.partitions
            ],
        )


class LogEndsTests(LeaderCase):
    def refresh(self, *numbers: int) -> None:
        """Refresh partitions of ``t``."""
        wanted = [TopicPartition("t", number) for number in numbers]
        self.successResultOf(Deferred.fromCoroutine(self.ends.refresh(wanted)))

    def test_own(self) -> None:
        """A log of this broker is known without asking."""
        self.refresh(0)
        self.assertEqual(self.ends.find("t", 0), Ends(1, 9, 8, 100))
        self.assertEqual(self.asked, [])

    def test_other(self) -> None:
        """Those of others are asked for, and not again for a while."""
        self.assertIsNone(self.ends.find("t", 3))
        self.refresh(0, 3, 7)
        self.assertEqual(self.ends.find("t", 3), Ends(3, 1003, 1003, 5))
        self.assertIsNone(self.ends.find("t", 7))
        self.assertEqual(len(self.asked), 4)
        self.refresh(3)
        self.assertEqual(len(self.asked), 4)
        self.clock.advance(KEPT_S)
        self.refresh(3)
        self.assertEqual(len(self.asked), 8)

    def test_chunks(self) -> None:
        """Many are asked for in several requests, so that no answer is long."""
        self.refresh(*range(1, 2 * CHUNK))
        self.assertEqual(len(self.asked), 8)
        sizes = [sum(len(t.partitions) for t in one.topics) for one in self.asked]
        self.assertLessEqual(max(sizes), CHUNK)
        self.assertIsNotNone(self.ends.find("t", 2 * CHUNK - 1))

    def test_silent(self) -> None:
        """A broker that does not answer, or cannot be reached, leaves its logs unknown."""
        self.silent = True
        refreshing = Deferred.fromCoroutine(self.ends.refresh([TopicPartition("t", 1)]))
        self.assertNoResult(refreshing)
        self.clock.advance(PATIENCE_S)
        self.successResultOf(refreshing)
        self.silent, self.failing = False, True
        self.refresh(1)
        self.assertIsNone(self.ends.find("t", 1))

    def test_forgotten(self) -> None:
        """Logs that are not asked for are forgotten; unknown names are not asked for."""
        self.refresh(1)
        self.clock.advance(FORGOTTEN_S + 1)
        self.refresh(2)
        self.assertIsNone(self.ends.find("t", 1))
        asked = len(self.asked)
        wanted = [TopicPartition("u", 0), TopicPartition("t", 10**6)]
        self.successResultOf(Deferred.fromCoroutine(self.ends.refresh(wanted)))
        self.assertEqual(len(self.asked), asked)
