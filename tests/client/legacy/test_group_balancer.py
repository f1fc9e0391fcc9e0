"""Tests of kafkatx.client.legacy.group_balancer."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.legacy.group_balancer import GroupBalancer
from kafkatx.extension import find
from kafkatx.interfaces import IBalancer
from kafkatx.testing.contracts.balancer import BalancerContract
from tests.client.consumers import ConsumerTestCase


class GroupBalancerTests(BalancerContract, ConsumerTestCase):
    def make_topic(self, topic: str, partitions: int) -> None:  # type: ignore[override]
        """Make a topic with two records in each partition."""
        super(BalancerContract, self).make_topic(topic, partitions)
        for partition in range(partitions):
            self.fill(b"a", b"b", topic=topic, partition=partition)

    def make_balancer(self) -> GroupBalancer:
        """Return the built-in balancer."""
        return GroupBalancer()

    def make_consumer(self) -> Consumer:
        """Return a started consumer of group g."""
        consumer = self.unstarted(group_id="g", enable_auto_commit=False)
        self.wait(consumer.start())
        return consumer

    def wait(self, waiting: Deferred[Any], seconds: float = 1.0) -> Any:
        """Return the result of a Deferred on the test's network."""
        return ConsumerTestCase.wait(self, waiting, seconds)

    def settle(self) -> None:
        """Advance the clock by the duration of a rebalance."""
        self.network.run(8)

    def test_name(self) -> None:
        """The balancer is the extension ``group``."""
        self.assertIs(type(find(IBalancer, "group", "kafkatx.balancer")()), GroupBalancer)
