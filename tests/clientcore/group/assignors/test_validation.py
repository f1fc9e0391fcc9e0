"""Tests of kafkatx.clientcore.group.assignors.validation."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, Assignor, Member
from kafkatx.clientcore.group.assignors.validation import validate_assignment
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
COUNTS = {"t": 2, "u": 1}


def own(cooperative: bool = False) -> Assignor:
    """Make a third party's assignor."""
    return Assignor("own", lambda members, partitions: {}, cooperative)


def members(**owned: tuple[tuple[TopicPartition, ...], int]) -> dict[str, Member]:
    """Return members of topic t, with their partitions and generations."""
    topics = frozenset(["t"])
    return {name: Member(name, topics, None, had, number) for name, (had, number) in owned.items()}


class CheckTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two members without partitions."""
        self.members = members(a=((), -1), b=((), -1))

    def refused(self, given: dict[str, Any], words: str) -> None:
        """Assert that the assignment is refused with these words."""
        error = self.assertRaises(KafkaTXError, validate_assignment, own(), self.members, COUNTS, given)
        self.assertEqual(str(error), f"the assignor own is wrong: it assigns {words}")

    def test_right(self) -> None:
        """A valid assignment has each partition at most once, at subscribers."""
        for given in ({"a": [T0], "b": [T1]}, {"a": [T1, T0]}, {}, {"b": [("t", 1)]}):
            validate_assignment(own(), self.members, COUNTS, given)

    def test_twice(self) -> None:
        """A partition has one owner."""
        self.refused({"a": [T0], "b": [T1, T0]}, "t [0] to b, and to a")
        self.refused({"a": [T0, T0]}, "t [0] to a, and to a")

    def test_subscription(self) -> None:
        """A member gets no partition of a topic that it does not subscribe to."""
        self.refused({"a": [("u", 0)]}, "u [0] to a, which does not subscribe to the topic")

    def test_not_there(self) -> None:
        """Partitions and members that do not exist are refused."""
        self.refused({"a": [("t", 2)]}, "t [2] to a, but the topic has 2 partitions")
        self.refused({"a": [("t", -1)]}, "t [-1] to a, but the topic has 2 partitions")
        self.refused({"c": [T0]}, "t [0] to c, which is not a member")

    def test_handed_over(self) -> None:
        """In a cooperative rebalance an owned partition cannot go to another member in one step."""
        group = members(a=((T0, T1), 4), b=((), -1))
        given = {"a": [T0], "b": [T1]}
        validate_assignment(own(), group, COUNTS, given)
        validate_assignment(own(cooperative=True), group, COUNTS, {"a": [T0]})
        error = self.assertRaises(
            KafkaTXError, validate_assignment, own(cooperative=True), group, COUNTS, given
        )
        self.assertIn("it assigns t [1] to b, but a still owns it", str(error))

    def test_older_claim(self) -> None:
        """A claim of an older generation does not count."""
        group = members(a=((T0,), 3), b=((T0,), 4))
        validate_assignment(own(cooperative=True), group, COUNTS, {"b": [T0]})
        error = self.assertRaises(
            KafkaTXError, validate_assignment, own(cooperative=True), group, COUNTS, {"a": [T0]}
        )
        self.assertIn("b still owns it", str(error))

    def test_ours(self) -> None:
        """Built-in assignors are trusted, since they know generations from user data."""
        group = members(a=((T0,), 4), b=((), -1))
        validate_assignment(COOPERATIVE_STICKY, group, COUNTS, {"b": [T0]})
