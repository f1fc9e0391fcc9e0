"""Assignments of kafka-python and aiokafka equal ours where they equal Apache Kafka's.

They lack the exact quotas of equal subscriptions, so their sticky assignments are compared by evenness and
by the number of partitions that keep their owners.
"""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AioRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AioRoundRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as AioSticky
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import RANGE, ROUND_ROBIN, STICKY, Assignments, Assignor, Member
from kafkatx.types import TopicPartition
from tests.clientcore.group.assignors.members import after, counts, even, groups, kept

OTHERS: dict[str, tuple[Any, Any]] = {
    "range": (RangePartitionAssignor, AioRange),
    "roundrobin": (RoundRobinPartitionAssignor, AioRoundRobin),
    "sticky": (StickyPartitionAssignor, AioSticky),
}
GROUPS = st.booleans().flatmap(groups)
logging.getLogger("kafka").setLevel(logging.ERROR)  # it warns of each missing topic
PLAIN = st.sampled_from((RANGE, ROUND_ROBIN))


class Topics:
    """A cluster's metadata for the other clients' assignors."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._topics = topics

    def topics(self) -> set[str]:
        """Return the existing topics."""
        return set(self._topics)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the partitions of a topic, or None if it does not exist."""
        return set(range(self._topics[topic])) if topic in self._topics else None


def kafka_python(assignor: Assignor, known: dict[str, Member], topics: dict[str, int]) -> Assignments:
    """Return kafka-python's assignment."""
    members = [
        SimpleNamespace(
            member_id=m.member_id,
            group_instance_id=m.instance_id,
            metadata=ConsumerProtocolSubscription(version=0, topics=sorted(m.topics), user_data=m.user_data),
        )
        for m in sorted(known.values(), key=lambda m: m.instance_id is None)  # it groups neighbours only
    ]
    given = OTHERS[assignor.name][0]().assign(Topics(topics), members)
    return {
        name: _partitions(
            (t.topic, t.partitions) if hasattr(t, "topic") else t for t in one.assigned_partitions
        )
        for name, one in given.items()
    }


def aiokafka(assignor: Assignor, known: dict[str, Member], topics: dict[str, int]) -> Assignments:
    """Return aiokafka's assignment, which has no static members."""
    members = {
        m.member_id: SimpleNamespace(
            subscription=sorted(m.topics), topics=sorted(m.topics), user_data=m.user_data
        )
        for m in known.values()
    }
    given = OTHERS[assignor.name][1].assign(Topics(topics), members)
    return {name: _partitions(one.assignment) for name, one in given.items()}


def _partitions(topics: Any) -> list[TopicPartition]:
    return sorted(TopicPartition(topic, number) for topic, numbers in topics for number in numbers)


def inordered(given: Assignments) -> Assignments:
    """Return the assignment with the partitions of each member in order."""
    return {name: sorted(mine) for name, mine in given.items()}


class OracleTests(SynchronousTestCase):
    @settings(max_examples=50, deadline=None)
    @given(PLAIN, GROUPS, counts())
    def test_kafka_python(self, assignor: Assignor, known: dict[str, Member], topics: dict[str, int]) -> None:
        """Range and round-robin assignments equal kafka-python's, with static members.

        Its round robin fails if it has to skip a member.
        """
        assume(assignor is RANGE or len({member.topics for member in known.values()}) == 1)
        self.assertEqual(inordered(assignor.assign(known, topics)), kafka_python(assignor, known, topics))

    @settings(max_examples=50, deadline=None)
    @given(PLAIN, GROUPS, counts())
    def test_aiokafka(self, assignor: Assignor, known: dict[str, Member], topics: dict[str, int]) -> None:
        """Range and round-robin assignments equal aiokafka's, without static members."""
        known = {name: member._replace(instance_id=None) for name, member in known.items()}
        self.assertEqual(inordered(assignor.assign(known, topics)), aiokafka(assignor, known, topics))

    @settings(max_examples=25, deadline=None)
    @given(GROUPS, counts(), GROUPS)
    def test_sticky(
        self, before: dict[str, Member], topics: dict[str, int], others: dict[str, Member]
    ) -> None:
        """Sticky assignments of equal subscriptions are even, and keep no fewer partitions than others'."""
        had = after(STICKY, before, STICKY.assign(before, topics), 1)
        known = {n: had[n]._replace(topics=m.topics) if n in had else m for n, m in others.items()}
        mine = STICKY.assign(known, topics)
        for other in (kafka_python, aiokafka):
            theirs = other(STICKY, known, topics)
            if even(known, theirs) and len({m.topics for m in known.values()}) == 1:
                self.assertGreaterEqual(kept(known, mine), kept(known, theirs))
            self.assertTrue(even(known, mine))
