"""Values for the tests of the controller's decisions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from kafkatx.types import NO_LEADER, BrokerNode, ClusterState, PartitionState, Topic, TopicPartition

ONE = TopicPartition("T", 0)


def missing(*replicas: int) -> PartitionState:
    """Return a partition without a state."""
    return PartitionState(NO_LEADER, -1, replicas, (), -1)


def topic(name: str, *partitions: PartitionState) -> Topic:
    """Return a topic."""
    return Topic(name, uuid.uuid5(uuid.NAMESPACE_OID, name), partitions)


def broker(number: int, epoch: int = 1, stopping: bool = False, clean: bool = True) -> BrokerNode:
    """Return a live broker, which has registered before all states of these tests were written."""
    return BrokerNode(number, "h", 9092, None, epoch, 0, stopping, clean)


def cluster(
    topics: Sequence[Topic] = (),
    *brokers: BrokerNode,
    offline: Mapping[int, frozenset[TopicPartition]] | None = None,
) -> ClusterState:
    """Return a state."""
    live = {each.id: each for each in brokers}
    return ClusterState("c", -1, live, {each.name: each for each in topics}, offline=offline or {})
