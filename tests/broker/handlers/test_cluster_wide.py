"""Requests about the whole cluster, to a broker that is number 1 of three."""

from __future__ import annotations

from typing import cast

import attrs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import NO_LEADER, PartitionState
from kafkatx.wire.messages import (
    describe_cluster,
    describe_quorum,
    describe_topic_partitions,
    metadata,
)
from tests.broker.cluster import ClusterTestCase
from tests.broker.running import codes


class ClusterWideTestCase(ClusterTestCase):
    """Topic ``t`` has a partition on each of the brokers 1, 2 and 3."""

    def setUp(self) -> None:
        """Create the topic elsewhere."""
        super().setUp()
        self.metadata.put(self.metadata.make_topic("t", [[1], [2], [3]], {"retention.ms": "7000"}))

    def commands(self) -> list[str]:
        """Return the names of the changes that this broker has asked the store for."""
        return [command.name for command in self.metadata.commands if command.name != "record"]


class MetadataTests(ClusterWideTestCase):
    def described(self, name: str = "t") -> metadata.MetadataResponseTopic:
        """Return the metadata of a topic, which is not created."""
        asked = [metadata.MetadataRequestTopic(name=name)]
        (found,) = self.ask(3, 12, metadata.MetadataRequest(asked, False)).topics
        return cast(metadata.MetadataResponseTopic, found)

    def ask_creating(self, *names: str) -> dict[str, int]:
        """Return the topics' codes of a request that creates missing ones."""
        asked = [metadata.MetadataRequestTopic(name=name) for name in names]
        topics = self.ask(3, 12, metadata.MetadataRequest(asked, True)).topics
        return {topic.name: topic.error_code for topic in topics}

    def test_brokers(self) -> None:
        """All live brokers are returned with their addresses and racks, and the controller."""
        response = self.ask(3, 12, metadata.MetadataRequest([]))
        self.assertEqual(
            {(one.node_id, one.host, one.port, one.rack) for one in response.brokers},
            {(n, f"b{n}", 9100 + n, f"rack {n}") for n in (1, 2, 3)},
        )
        self.assertEqual(response.controller_id, 2)

    def test_leaders(self) -> None:
        """A topic shows its partitions on all brokers."""
        partitions = self.described().partitions
        found = [(p.error_code, p.leader_id, p.leader_epoch) for p in partitions]
        self.assertEqual(found, [(0, 1, 0), (0, 2, 0), (0, 3, 0)])

    def test_broker_gone(self) -> None:
        """A partition of a broker that is gone has no leader; its replica is offline, its epoch is kept."""
        self.metadata.leave(3)
        _mine, _other, gone = self.described().partitions
        self.assertEqual(
            (gone.error_code, gone.leader_id, gone.leader_epoch, gone.replica_nodes, gone.offline_replicas),
            (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, 1, [3], [3]),
        )
        self.assertEqual(codes(self.described().partitions), [0, 0, ErrorCode.LEADER_NOT_AVAILABLE])

    def test_new_topic(self) -> None:
        """A topic without states is not shown, and LEADER_NOT_AVAILABLE if it is asked for."""
        new = self.metadata.make_topic("new", [[2], [3]])
        waiting = PartitionState(NO_LEADER, -1, (2,), (), -1)
        self.metadata.put(attrs.evolve(new, partitions=(waiting, waiting)))
        found = self.described("new")
        self.assertEqual((found.error_code, found.partitions), (ErrorCode.LEADER_NOT_AVAILABLE, []))
        self.assertEqual([t.name for t in self.ask(3, 12, metadata.MetadataRequest(None)).topics], ["t"])
        asked = describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest("new")]
        )
        (topic,) = self.ask(75, 0, asked).topics
        self.assertEqual((topic.error_code, topic.partitions), (ErrorCode.LEADER_NOT_AVAILABLE, []))
        self.assertEqual(self.ask_creating("new"), {"new": ErrorCode.LEADER_NOT_AVAILABLE})

    def test_new_partition(self) -> None:
        """A partition without a state is LEADER_NOT_AVAILABLE if others have one; their number is right."""
        known = self.metadata.state.topics["t"]
        waiting = PartitionState(NO_LEADER, -1, (2,), (), -1)
        self.metadata.put(attrs.evolve(known, partitions=(*known.partitions, waiting)))
        partition = self.described().partitions[3]
        self.assertEqual(
            (partition.error_code, partition.leader_id, partition.leader_epoch, partition.replica_nodes),
            (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, -1, [2]),
        )

    def test_fenced(self) -> None:
        """A fenced broker still answers with what it knows."""
        self.metadata.fence()
        self.assertEqual(codes(self.described().partitions), [0, 0, 0])

    def test_not_created(self) -> None:
        """A topic that only other brokers have is not created again."""
        self.metadata.put(self.metadata.make_topic("theirs", [[2]]))
        self.assertEqual(self.ask_creating("theirs"), {"theirs": 0})
        self.assertEqual(self.commands(), [])

    def test_created(self) -> None:
        """A missing topic is created by the broker that is asked."""
        self.assertEqual(self.ask_creating("new"), {"new": 0})
        self.assertEqual(self.commands(), ["create_topic"])

    def test_created_by_another(self) -> None:
        """The client is told to ask again if another broker has created a topic meanwhile."""
        self.metadata.holding = True
        asked = [metadata.MetadataRequestTopic(name="new")]
        waiting = self.answer(3, 12, metadata.MetadataRequest(asked, True))
        (command,) = self.metadata.commands
        command.done.errback(RequestError(ErrorCode.TOPIC_ALREADY_EXISTS))
        (topic,) = self.response(3, 12, self.successResultOf(waiting)).topics
        self.assertEqual(topic.error_code, ErrorCode.LEADER_NOT_AVAILABLE)

    def test_slow_creation(self) -> None:
        """A creation that takes long does not hold up the metadata of other topics, and is carried out."""
        self.metadata.holding = True
        asked = [metadata.MetadataRequestTopic(name=name) for name in ("t", "new")]
        waiting = self.answer(3, 12, metadata.MetadataRequest(asked, True))
        self.clock.advance(4.9)
        self.assertNoResult(waiting)
        self.clock.advance(0.1)
        topics = self.response(3, 12, self.successResultOf(waiting)).topics
        self.assertEqual(codes(topics), [0, ErrorCode.LEADER_NOT_AVAILABLE])
        (command,) = self.metadata.commands
        command.carry_out()
        self.assertEqual(codes(self.described("new").partitions), [0])

    def test_describe_topic_partitions(self) -> None:
        """DescribeTopicPartitions answers as Metadata does."""
        self.metadata.leave(3)
        asked = describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest("t")]
        )
        (topic,) = self.ask(75, 0, asked).topics
        self.assertEqual(
            [(p.error_code, p.leader_id, p.offline_replicas) for p in topic.partitions],
            [(0, 1, []), (0, 2, []), (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, [3])],
        )

    def test_describe_cluster(self) -> None:
        """DescribeCluster shows the live brokers and the controller."""
        self.metadata.leave(3)
        response = self.ask(60, 0, describe_cluster.DescribeClusterRequest())
        found = {(node.broker_id, node.host, node.rack) for node in response.brokers}
        self.assertEqual(found, {(1, "b1", "rack 1"), (2, "b2", "rack 2")})
        self.assertEqual(response.controller_id, 2)

    def test_describe_quorum(self) -> None:
        """The controller is the voter and all other brokers observe; without one there is no voter."""
        asked = describe_quorum.DescribeQuorumRequest(
            [describe_quorum.TopicRequest("__cluster_metadata", [describe_quorum.PartitionRequest(0)])]
        )
        for controller, voters, observers in ((2, [2], {1, 3}), (-1, [], {1, 2, 3})):
            self.metadata.change(controller_id=controller)
            (topic,) = self.ask(55, 2, asked).topics
            (quorum,) = topic.partitions
            self.assertEqual(quorum.leader_id, controller)
            self.assertEqual([one.replica_id for one in quorum.current_voters], voters)
            self.assertEqual({one.replica_id for one in quorum.observers}, observers)
