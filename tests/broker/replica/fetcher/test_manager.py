"""The replica fetcher manager: which partitions are copied, and from which address."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.broker.replica.fetcher.manager import ReplicaFetcherManager
from kafkatx.net.limited_log import LimitedLog
from tests.broker.cluster import ClusterTestCase


class Endpoint:
    """An address to which a connection never comes about."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self.given_up = False

    def connect(self, protocolFactory: Any) -> Deferred[Any]:
        """Return a Deferred that notes its cancelling."""

        def cancelled(_: Deferred[Any]) -> None:
            self.given_up = True

        return Deferred(cancelled)


class ManagerCase(ClusterTestCase):
    """Broker 1 of three; the test sees where it connects.

    :ivar endpoints: every address that was connected to, in order.
    """

    def setUp(self) -> None:
        """Make the manager, which is started."""
        super().setUp()
        self.endpoints: list[Endpoint] = []
        broker = self.broker
        self.manager = ReplicaFetcherManager(
            broker.config,
            self.metadata,
            broker.topics,
            broker.store,
            broker.flushes,
            self.clock,
            LimitedLog(Logger(), self.clock),
            broker.throttles.follower,
            self.make_endpoint,
        )
        self.manager.start()
        self.addCleanup(self.manager.stop)

    def make_endpoint(self, reactor: Any, host: str, port: int) -> Any:
        """Return an endpoint of the test."""
        self.endpoints.append(Endpoint(host, port))
        return self.endpoints[-1]

    def copied(self) -> dict[int, list[str]]:
        """Return the partitions that are copied from each leader, and check that these are connected to."""
        self.clock.advance(0)
        fetchers = self.manager._fetchers
        self.assertEqual(
            sorted(one.address for one in self.endpoints if not one.given_up),
            sorted(one.source.internal or (one.source.host, one.source.port) for one in fetchers.values()),
        )
        return {
            leader: sorted(str(follower.partition.topic_partition) for follower in fetcher.followers)
            for leader, fetcher in fetchers.items()
        }


class RoleTests(ManagerCase):
    def test_by_leader(self) -> None:
        """Partitions that other brokers lead are copied from them, over one connection for each."""
        self.metadata.put(self.metadata.make_topic("t", [[1, 2], [2, 1], [2, 1, 3], [3, 1], [2, 3]]))
        self.assertEqual(self.copied(), {2: ["t-1", "t-2"], 3: ["t-3"]})
        self.assertEqual([one.address for one in self.endpoints], [("b2", 9102), ("b3", 9103)])

    def test_before_the_start(self) -> None:
        """A manager that is not started copies nothing; the start looks at all partitions."""
        self.successResultOf(self.manager.stop())
        self.metadata.put(self.metadata.make_topic("t", [[2, 1]]))
        self.assertEqual(self.copied(), {})
        self.manager.start()
        self.assertEqual(self.copied(), {2: ["t-0"]})

    def test_leader_moves(self) -> None:
        """A partition follows its leader; a connection without partitions is closed."""
        self.metadata.put(self.metadata.make_topic("t", [[2, 1, 3], [2, 1, 3]]))
        self.metadata.replicate("t", 0, leader=3)
        self.assertEqual(self.copied(), {2: ["t-1"], 3: ["t-0"]})
        self.metadata.replicate("t", 1, leader=1)
        self.assertEqual(self.copied(), {3: ["t-0"]})
        self.metadata.replicate("t", 0, leader=-1)
        self.assertEqual(self.copied(), {})
        self.metadata.replicate("t", 1, leader=2)
        self.assertEqual(self.copied(), {2: ["t-1"]})

    def test_back_in_one_turn(self) -> None:
        """A connection stays if its last partition goes and another comes at once."""
        self.metadata.put(self.metadata.make_topic("t", [[2, 1, 3]]))
        self.metadata.replicate("t", leader=3)
        self.metadata.replicate("t", leader=2)
        self.assertEqual(self.copied(), {2: ["t-0"]})
        self.assertEqual([one.address[0] for one in self.endpoints], ["b2", "b3"])

    def test_isr_alone(self) -> None:
        """A change of the in-sync replicas alone disturbs nothing."""
        self.metadata.put(self.metadata.make_topic("t", [[2, 1, 3]]))
        (before,) = self.manager._followers.values()
        self.metadata.replicate("t", isr=(2, 1))
        (after,) = self.manager._followers.values()
        self.assertIs(before, after)

    def test_next_epoch(self) -> None:
        """The next leader epoch of the same leader begins anew: answers of the earlier one do not count."""
        self.metadata.put(self.metadata.make_topic("t", [[2, 1, 3]]))
        self.metadata.replicate("t", leader_epoch=4)
        (follower,) = self.manager._followers.values()
        self.assertEqual(follower.role.leader_epoch, 4)
        self.assertEqual(self.copied(), {2: ["t-0"]})

    def test_unsaved_log_start(self) -> None:
        """A log start that was not saved in one epoch is saved in the next, before the first fetch."""
        self.metadata.put(self.metadata.make_topic("t", [[2, 1, 3], [2, 1, 3]]))
        old = {one.partition.topic_partition.partition: one for one in self.manager._followers.values()}
        old[0].has_new_start = True
        for number in range(2):
            self.metadata.replicate("t", number, leader_epoch=4)
        new = {one.partition.topic_partition.partition: one for one in self.manager._followers.values()}
        self.assertEqual([new[number].has_new_start for number in range(2)], [True, False])

    def test_no_replica_any_more(self) -> None:
        """A partition that a reassignment has moved away is copied no more."""
        self.metadata.put(self.metadata.make_topic("t", [[2, 1, 3]]))
        self.metadata.replicate("t", replicas=(2, 3), isr=(2, 3))
        self.assertEqual(self.copied(), {})

    def test_deleted(self) -> None:
        """A topic that is deleted is copied no more; one of its name has another id."""
        self.metadata.put(self.metadata.make_topic("t", [[2, 1]]))
        self.metadata.remove("t")
        self.assertEqual((self.copied(), self.manager._followers), ({}, {}))
        self.metadata.put(self.metadata.make_topic("t", [[2, 1]]))
        (follower,) = self.manager._followers.values()
        self.assertEqual(follower.topic_id, self.metadata.state.topics["t"].topic_id)


class BrokerTests(ManagerCase):
    def setUp(self) -> None:
        """Copy a partition from broker 2."""
        super().setUp()
        self.metadata.put(self.metadata.make_topic("t", [[2, 1]]))
        self.assertEqual(self.copied(), {2: ["t-0"]})

    def test_registered_again(self) -> None:
        """Another life of the leader gets another connection."""
        self.metadata.join(2)
        self.assertEqual(self.copied(), {2: ["t-0"]})
        self.assertEqual([one.given_up for one in self.endpoints], [True, False])

    def test_another_address(self) -> None:
        """A leader at another address, or with one for other brokers, is connected to there."""
        node = attrs.evolve(self.metadata.state.brokers[2], internal=("inside", 7))
        self.metadata.change(brokers={**self.metadata.state.brokers, 2: node})
        self.assertEqual(self.copied(), {2: ["t-0"]})
        self.assertEqual(self.endpoints[-1].address, ("inside", 7))

    def test_away(self) -> None:
        """A leader that is away is not connected to; it is when it is back."""
        brokers = {one: node for one, node in self.metadata.state.brokers.items() if one != 2}
        self.metadata.change(brokers=brokers)
        self.assertEqual(self.copied(), {})
        self.metadata.join(2)
        self.assertEqual(self.copied(), {2: ["t-0"]})

    def test_others(self) -> None:
        """Other brokers that come and go disturb nothing."""
        self.metadata.join(3)
        self.metadata.leave(3)
        self.assertEqual(self.copied(), {2: ["t-0"]})
        self.assertEqual(len(self.endpoints), 1)

    def test_stop(self) -> None:
        """After the stop nothing is connected to, whatever changes."""
        self.successResultOf(self.manager.stop())
        self.metadata.join(2)
        self.metadata.put(self.metadata.make_topic("u", [[2, 1]]))
        self.assertEqual(self.copied(), {})
        self.assertEqual([one.given_up for one in self.endpoints], [True])
