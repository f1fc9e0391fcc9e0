"""Throttles of copies."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.throttles import ReplicationThrottle, ReplicationThrottles, listed_partitions
from kafkatx.config import BrokerConfig
from kafkatx.types import BrokerNode, TopicPartition
from tests.broker.cluster import FakeMetadataStore

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
LEADER, FOLLOWER = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class ListedTests(SynchronousTestCase):
    def test_listed(self) -> None:
        """Partitions are listed for brokers; * lists all of them for all."""
        self.assertEqual(listed_partitions("0:1,1:2, 3:1", 1), {0, 3})
        self.assertEqual(listed_partitions("0:11", 1), frozenset())
        self.assertIsNone(listed_partitions("*", 1))


class ThrottlesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Broker 1 is a throttled leader of t-0, a throttled follower of t-1, and both for all of u."""
        self.metadata = FakeMetadataStore()
        self.metadata.start(BrokerNode(1, "b1", 9101))
        self.metadata.put(
            self.metadata.make_topic("t", [[1, 2], [2, 1]], {LEADER: "0:1", FOLLOWER: "1:1"}),
            self.metadata.make_topic("u", [[1, 2]], {LEADER: "*", FOLLOWER: "*"}),
        )
        self.clock = Clock()
        self.throttles = ReplicationThrottles(self.config(1000), self.metadata, self.clock.seconds)

    def config(self, rate: int | None) -> BrokerConfig:
        """Return the settings of broker 1, with a limit of both rates."""
        values = {"broker.id": "1"}
        for one in ("leader", "follower") if rate is not None else ():
            values[f"{one}.replication.throttled.rate"] = str(rate)
        return BrokerConfig.load(None, values)

    def check(self, throttle: ReplicationThrottle, listed: TopicPartition, other: TopicPartition) -> None:
        """Check that a throttle holds a listed partition back, and no other one."""
        self.assertFalse(throttle.holds_back(listed))
        throttle.count(other, 1_000_000)
        self.assertFalse(throttle.holds_back(listed))
        throttle.count(listed, 50_000)
        self.assertEqual([throttle.holds_back(one) for one in (listed, U0, other)], [True, True, False])
        self.clock.advance(throttle.pause_s() + 0.01)
        self.assertFalse(throttle.holds_back(listed))

    def test_leader(self) -> None:
        """Above the limit copies of the listed partitions wait, until the rate is within it again."""
        self.check(self.throttles.leader, T0, T1)

    def test_follower(self) -> None:
        """It is the same for copies to this broker."""
        self.check(self.throttles.follower, T1, T0)

    def test_no_limit(self) -> None:
        """Without a limit nothing is held back or counted; a limit counts from then on."""
        throttle = self.throttles.leader
        self.throttles.use(self.config(None))
        throttle.count(T0, 1_000_000)
        self.assertEqual((throttle.is_on, throttle.holds_back(T0), throttle.pause_s()), (False, False, 0.0))
        self.throttles.use(self.config(1000))
        self.assertFalse(throttle.holds_back(T0))

    def test_unknown(self) -> None:
        """A partition of an unknown topic, or of one without the config, is not held back."""
        throttle = self.throttles.leader
        throttle.count(T0, 1_000_000)
        self.assertFalse(throttle.holds_back(TopicPartition("x", 0)))
