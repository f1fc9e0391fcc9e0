"""Sets of partitions: the algebra, and the form in messages."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.assignment.partitions import (
    NOTHING,
    Assignment,
    both,
    from_list,
    is_within,
    to_list,
    together,
    without,
)
from kafkatx.group.consumer.messages import TopicPartitions

TOPICS = [uuid.UUID(int=number) for number in (1, 2, 3)]
ASSIGNMENTS = st.dictionaries(
    st.sampled_from(TOPICS), st.frozensets(st.integers(0, 4), min_size=1), max_size=3
)


def pairs(assignment: Assignment) -> set[tuple[uuid.UUID, int]]:
    """Return the partitions as pairs."""
    return {(topic, number) for topic, numbers in assignment.items() for number in numbers}


class AlgebraTests(SynchronousTestCase):
    @given(ASSIGNMENTS, ASSIGNMENTS)
    def test_as_sets(self, one: Assignment, other: Assignment) -> None:
        """The operations are those of sets of pairs, and no topic of a result is empty."""
        for made, expected in (
            (both(one, other), pairs(one) & pairs(other)),
            (without(one, other), pairs(one) - pairs(other)),
            (together(one, other), pairs(one) | pairs(other)),
        ):
            self.assertEqual(pairs(made), expected)
            self.assertTrue(all(made.values()))
        self.assertEqual(is_within(one, other), pairs(one) <= pairs(other))

    def test_nothing(self) -> None:
        """The empty assignment is part of all others."""
        self.assertTrue(is_within(NOTHING, {TOPICS[0]: frozenset({1})}))
        self.assertFalse(is_within({TOPICS[0]: frozenset({1})}, NOTHING))


class ListTests(SynchronousTestCase):
    @given(ASSIGNMENTS)
    def test_round_trip(self, assignment: Assignment) -> None:
        """A list of partitions is read as the assignment that it was made from."""
        self.assertEqual(from_list(to_list(assignment, TopicPartitions)), assignment)

    def test_twice(self) -> None:
        """A topic that is listed twice has the partitions of both entries."""
        listed = [TopicPartitions(TOPICS[0], [1]), TopicPartitions(TOPICS[0], [2, 1])]
        self.assertEqual(from_list(listed), {TOPICS[0]: frozenset({1, 2})})

    def test_empty_topic(self) -> None:
        """A topic without partitions is no part of the assignment."""
        self.assertEqual(from_list([TopicPartitions(TOPICS[0], [])]), {})
