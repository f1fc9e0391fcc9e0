"""A cluster of three brokers, whose state tests change."""

from __future__ import annotations

import uuid
from typing import Any
from unittest.mock import Mock

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.cluster.counts import ClusterCounts, Counts
from kafkatx.broker.console.cluster.problems import problems
from kafkatx.config import BrokerConfig
from kafkatx.types import BrokerNode, ClusterState, PartitionState, Topic


def topic(name: str, *partitions: tuple[int, tuple[int, ...], tuple[int, ...]], least: str = "1") -> Topic:
    """Return a topic with partitions of a leader, replicas and in-sync replicas."""
    states = tuple(PartitionState(leader, 0, replicas, isr) for leader, replicas, isr in partitions)
    return Topic(name, uuid.uuid4(), states, {"min.insync.replicas": least})


class StateCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a cluster of three brokers."""
        nodes = {number: BrokerNode(number, "h", 9092) for number in (1, 2, 3)}
        topics = [topic("good", (1, (1, 2), (1, 2)), (2, (2, 3), (2, 3)))]
        self.state = ClusterState("c", 1, nodes, {one.name: one for one in topics})
        self.broker: Any = Mock(clock=Clock(), config=BrokerConfig.load(None, {}), node_id=1)
        self.broker.store.dirs = []
        self.broker.metadata.state = self.state
        self.counts = ClusterCounts(self.broker)

    def use(self, *topics: Topic, **more: Any) -> None:
        """Change the state."""
        changed = {one.name: one for one in topics}
        self.broker.metadata.state = attrs.evolve(self.state, topics=changed, **more)

    def found(self) -> Counts:
        """Return the counts of now."""
        self.broker.clock.advance(1)
        return self.successResultOf(self.counts.get())

    def texts(self) -> list[str]:
        """Return the problems of now."""
        return [problem.text for problem in problems(self.broker, self.found())]
