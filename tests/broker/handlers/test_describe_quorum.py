"""DescribeQuorum: the controller as the one voter."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionRequest, TopicRequest
from tests.broker.running import NODE, NOW_MS, BrokerTestCase

VERSIONS = range(3)


class DescribeQuorumTests(BrokerTestCase):
    def ask_for(self, *partitions: tuple[str, int], version: int = 2) -> Any:
        """Return the response for these partitions."""
        topics = [TopicRequest(name, [PartitionRequest(number)]) for name, number in partitions]
        return self.ask(55, version, DescribeQuorumRequest(topics))

    def test_one_voter(self) -> None:
        """The controller is leader and voter; its address is returned from version 2 on."""
        for version in VERSIONS:
            response = self.ask_for(("__cluster_metadata", 0), version=version)
            self.assertEqual(response.error_code, 0)
            ((part,),) = (topic.partitions for topic in response.topics)
            self.assertEqual((part.error_code, part.leader_id, part.observers), (0, NODE.id, []))
            (voter,) = part.current_voters
            self.assertEqual((voter.replica_id, voter.log_end_offset), (NODE.id, 0))
            if version >= 1:
                self.assertEqual(voter.last_caught_up_timestamp, NOW_MS)
            if version >= 2:
                (node,) = response.nodes
                (listener,) = node.listeners
                self.assertEqual(
                    (node.node_id, listener.host, listener.port), (NODE.id, NODE.host, NODE.port)
                )

    def test_observers(self) -> None:
        """Brokers other than the controller are observers."""
        state = self.broker.metadata.state
        brokers = {**state.brokers, 7: BrokerNode(7, "other", 9092)}
        self.patch(self.broker.metadata, "state", attrs.evolve(state, brokers=brokers))
        (topic,) = self.ask_for(("__cluster_metadata", 0)).topics
        self.assertEqual([one.replica_id for one in topic.partitions[0].observers], [7])

    def test_without_a_controller(self) -> None:
        """An unknown controller has id -1, and there are no addresses."""
        state = self.broker.metadata.state
        self.patch(self.broker.metadata, "state", attrs.evolve(state, controller_id=-1, brokers={}))
        response = self.ask_for(("__cluster_metadata", 0))
        self.assertEqual((response.topics[0].partitions[0].leader_id, response.nodes), (-1, []))

    def test_other_partitions(self) -> None:
        """No other partition has a quorum."""
        self.make_topic()
        for name, number in (("t", 0), ("__cluster_metadata", 1), ("", -1)):
            for version in VERSIONS:
                response = self.ask_for((name, number), version=version)
                (topic,) = response.topics
                (part,) = topic.partitions
                self.assertEqual(
                    (response.error_code, topic.topic_name, part.partition_index, part.error_code),
                    (0, name, number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                )

    def test_none(self) -> None:
        """An empty request has an empty answer."""
        self.assertEqual((self.ask_for().error_code, self.ask_for().topics), (0, []))

    def test_many(self) -> None:
        """A request for many partitions is one error, even if it repeats the valid one."""
        for version in VERSIONS:
            response = self.ask_for(*[("__cluster_metadata", 0)] * 1000, version=version)
            self.assertEqual((response.error_code, response.topics), (ErrorCode.INVALID_REQUEST, []))
