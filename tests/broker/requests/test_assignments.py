"""Assignments of new partitions to the live brokers."""

from __future__ import annotations

import uuid
from types import MappingProxyType

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests.assignments import (
    MOST_PARTITIONS,
    check_factor,
    check_replicas,
    find_state,
    plan_partitions,
    plan_topic,
)
from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode, ClusterState, PartitionState, Topic


def state_of(*brokers: int, racks: str = "") -> ClusterState:
    """Return a cluster of these brokers; *racks* has a letter for each."""
    nodes = {one: BrokerNode(one, "h", 9092, racks[n] if racks else None) for n, one in enumerate(brokers)}
    return ClusterState("c", 1, MappingProxyType(nodes))


def topic_of(*replicas: tuple[int, ...]) -> Topic:
    """Return a topic whose partitions have these replicas."""
    states = tuple(PartitionState(one[0], 0, one, one) for one in replicas)
    return Topic("t", uuid.UUID(int=1), states)


class PlanTestCase(SynchronousTestCase):
    def refused(self, *args: object) -> tuple[ErrorCode, str]:
        """Return the code and message with which a plan is refused."""
        error = self.assertRaises(RequestError, self.plan, *args)
        return error.code, str(error)

    def plan(
        self, state: ClusterState, partitions: int, replicas: int = 1, start: int = 0, **settings: str
    ) -> list[tuple[int, ...]]:
        """Return the plan of a new topic; every random number is *start*."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        config = BrokerConfig.load(None, {"kafkatx.storage": "memory", **named})
        return plan_topic(config, state, partitions, replicas, lambda end: start % end)


class NewTopicTests(PlanTestCase):
    def test_all_brokers(self) -> None:
        """Partitions are spread over all live brokers, from a random one on."""
        self.assertEqual(self.plan(state_of(1, 2, 3), 4), [(1,), (2,), (3,), (1,)])
        self.assertEqual(self.plan(state_of(1, 2, 3), 4, start=2), [(3,), (1,), (2,), (3,)])

    def test_racks(self) -> None:
        """With racks, partitions alternate between them."""
        self.assertEqual(self.plan(state_of(1, 2, 3, racks="aab"), 3), [(1,), (3,), (2,)])

    def test_defaults(self) -> None:
        """The settings replace -1."""
        planned = self.plan(state_of(1, 2, 3), -1, -1, num_partitions="2", default_replication_factor="3")
        self.assertEqual(planned, [(1, 2, 3), (2, 3, 1)])

    def test_copies(self) -> None:
        """A partition has as many replicas as asked for, on different brokers, and no more than there are."""
        self.assertEqual(self.plan(state_of(1, 2, 3), 3, 2), [(1, 2), (2, 3), (3, 1)])
        for default in (False, True):
            asked = (-1, -1) if default else (1, 3)
            with self.assertRaises(RequestError) as caught:
                self.plan(state_of(1, 2), *asked, default_replication_factor="3")
            self.assertEqual(caught.exception.code, ErrorCode.INVALID_REPLICATION_FACTOR)
            self.assertIn("replication factor 3: the number of live brokers is 2", str(caught.exception))

    def test_no_broker(self) -> None:
        """No topic is planned while no broker is registered."""
        self.assertEqual(self.refused(state_of(), 1)[0], ErrorCode.INVALID_REPLICATION_FACTOR)

    def test_counts(self) -> None:
        """Too few and too many partitions, and no replica, are refused."""
        for partitions, replicas, code in (
            (0, 1, ErrorCode.INVALID_PARTITIONS),
            (MOST_PARTITIONS + 1, 1, ErrorCode.POLICY_VIOLATION),
            (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR),
        ):
            self.assertEqual(self.refused(state_of(1), partitions, replicas)[0], code)


class NewPartitionTests(PlanTestCase):
    def test_go_on(self) -> None:
        """New partitions go on from the broker of partition 0."""
        self.assertEqual(plan_partitions(state_of(1, 2, 3), topic_of((2,), (3,)), 2), [(1,), (2,)])

    def test_copies(self) -> None:
        """New partitions have as many replicas as partition 0."""
        self.assertEqual(plan_partitions(state_of(1, 2, 3), topic_of((2, 3)), 1), [(3, 2)])
        error = self.assertRaises(RequestError, plan_partitions, state_of(1), topic_of((1, 2)), 1)
        self.assertEqual(error.code, ErrorCode.INVALID_REPLICATION_FACTOR)

    def test_count(self) -> None:
        """Too many are refused."""
        error = self.assertRaises(
            RequestError, plan_partitions, state_of(1), topic_of((1,)), MOST_PARTITIONS + 1
        )
        self.assertEqual(error.code, ErrorCode.POLICY_VIOLATION)


class GivenTests(SynchronousTestCase):
    def test_replicas(self) -> None:
        """Replicas must be different live brokers, at least one."""
        check_replicas(state_of(1, 2), [2, 1])
        for bad in ([], [1, 1], [3], [-1]):
            error = self.assertRaises(RequestError, check_replicas, state_of(1, 2), bad)
            self.assertEqual(error.code, ErrorCode.INVALID_REPLICA_ASSIGNMENT)

    def test_factor(self) -> None:
        """All partitions of a topic have the same number of replicas."""
        check_factor([1, 2], 2)
        error = self.assertRaises(RequestError, check_factor, [1], 2)
        self.assertEqual(error.code, ErrorCode.INVALID_REPLICA_ASSIGNMENT)

    def test_find(self) -> None:
        """A partition is found by topic and number."""
        known = topic_of((1,), (2,))
        state = ClusterState("c", 1, topics=MappingProxyType({"t": known}))
        self.assertIs(find_state(state, "t", 1), known.partitions[1])
        for name, number in (("u", 0), ("t", 2), ("t", -1)):
            error = self.assertRaises(RequestError, find_state, state, name, number)
            self.assertEqual(error.code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
