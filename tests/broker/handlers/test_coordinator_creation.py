"""The creation of ``__consumer_offsets`` in a cluster: another broker may do the same at that time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.types import NO_LEADER, PartitionState, Topic
from kafkatx.wire.messages import find_coordinator, offset_fetch
from tests.broker.cluster import ClusterTestCase
from tests.broker.coordinated import partitions_of
from tests.broker.members import MembersTestCase


class CreationTests(ClusterTestCase, MembersTestCase):
    """``__consumer_offsets`` does not exist at first."""

    settings: ClassVar[Mapping[str, str]] = {**MembersTestCase.settings, **ClusterTestCase.settings}

    def find(self) -> Deferred[Any]:
        """Begin to look for the coordinator of a group."""
        return self.later(10, 3, find_coordinator.FindCoordinatorRequest("g"))

    def make(self) -> Topic:
        """Return the topic as another broker creates it, all on broker 2."""
        return self.metadata.make_topic(CONSUMER_OFFSETS, [[2], [2], [2]])

    def test_spread(self) -> None:
        """The topic's partitions are spread over all brokers, with replicas as the setting says."""
        self.successResultOf(self.find())
        partitions = self.metadata.state.topics[CONSUMER_OFFSETS].partitions
        self.assertEqual(sorted(p.replicas[0] for p in partitions), [1, 2, 3])
        self.assertEqual([sorted(p.replicas) for p in partitions], [[1, 2, 3]] * 3)
        self.assertEqual([p.topic_partition.partition for p in partitions_of(self.broker)],
                         [n for n, p in enumerate(partitions) if p.leader == 1])  # fmt: skip

    def test_created_by_another(self) -> None:
        """A broker that loses the race for the creation answers with the topic of the winner."""
        self.metadata.holding = True
        first, second = self.find(), self.find()
        self.metadata.put(self.make())
        (create,) = [one for one in self.metadata.commands if one.name == "create_topic"]
        create.carry_out()
        self.assertEqual(self.successResultOf(first).node_id, 2)
        self.assertEqual(self.successResultOf(second).node_id, 2)

    def lose_race(self) -> Deferred[Any]:
        """Begin to look for a coordinator; another broker has created the topic, which is not shown yet."""
        self.metadata.holding = True
        waiting = self.find()
        (create,) = [one for one in self.metadata.commands if one.name == "create_topic"]
        create.done.errback(RequestError(ErrorCode.TOPIC_ALREADY_EXISTS))
        self.assertNoResult(waiting)
        return waiting

    def test_not_shown_yet(self) -> None:
        """The loser of the race waits until the topic is shown, and has leaders."""
        waiting = self.lose_race()
        topic = self.make()
        none = PartitionState(NO_LEADER, -1, (2,), (), -1)
        self.metadata.put(attrs.evolve(topic, partitions=(none,) * 3))
        self.assertNoResult(waiting)
        self.metadata.put(topic)
        self.assertEqual(self.successResultOf(waiting).node_id, 2)
        self.assertEqual(self.timers(), 0)

    def test_never_shown(self) -> None:
        """A client does not wait for ever for a topic that is not shown."""
        waiting = self.lose_race()
        self.clock.advance(5)
        self.assertEqual(self.successResultOf(waiting).error_code, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def test_stopped(self) -> None:
        """A stop of the broker leaves no timer."""
        self.lose_race()
        self.broker.groups.stop()
        self.assertEqual(self.timers(), 0)

    def timers(self) -> int:
        """Return the number of timers."""
        return len(self.clock.getDelayedCalls())

    def test_no_topic_here(self) -> None:
        """A broker that does not know the topic cannot say that a group has no offsets: another may know."""
        asked = offset_fetch.OffsetFetchRequest("g", [offset_fetch.OffsetFetchRequestTopic("t", [0])])
        self.assertEqual(self.ask(9, 7, asked).error_code, ErrorCode.NOT_COORDINATOR)
