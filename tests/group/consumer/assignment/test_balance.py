"""Balanced assignments: members keep partitions, get free ones, and pass on those above their share."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.assignment import balance
from kafkatx.group.consumer.assignment.balance import Balance

T, U = uuid.UUID(int=1), uuid.UUID(int=2)


def counts(made: Balance) -> dict[str, int]:
    """Return the number of partitions of each member."""
    return {member: sum(map(len, parts.values())) for member, parts in made.result().items()}


class BalanceTests(SynchronousTestCase):
    def test_keep(self) -> None:
        """A member keeps previous partitions that exist, are free and are still subscribed."""
        made = Balance({T: (3, ["a", "b"])}, ["a", "b"])
        made.keep("a", {T}, {T: frozenset({0, 1, 7}), U: frozenset({0})})
        made.keep("b", {T}, {T: frozenset({1, 2})})
        self.assertEqual(made.result(), {"a": {T: frozenset({0, 1})}, "b": {T: frozenset({2})}})

    def test_give_the_rest(self) -> None:
        """Free partitions go to the subscribers with the fewest."""
        made = Balance({T: (5, ["a", "b"])}, ["a", "b"])
        made.keep("a", {T}, {T: frozenset({0, 1, 2})})
        made.give_the_rest()
        self.assertEqual(counts(made), {"a": 3, "b": 2})

    def test_only_subscribers(self) -> None:
        """A member gets no partitions of topics that it does not subscribe to."""
        made = Balance({T: (4, ["a"]), U: (1, ["b"])}, ["a", "b"])
        made.give_the_rest()
        made.even_out()
        self.assertEqual(set(made.result()["b"]), {U})

    def test_chain(self) -> None:
        """Partitions move through a member in the middle if the ends share no topic."""
        made = Balance({T: (4, ["a", "b"]), U: (2, ["b", "c"])}, ["a", "b", "c"])
        made.keep("a", {T}, {T: frozenset({0, 1, 2, 3})})
        made.keep("b", {T, U}, {U: frozenset({0, 1})})
        made.even_out()
        self.assertEqual(counts(made), {"a": 2, "b": 2, "c": 2})

    def test_moves_few(self) -> None:
        """A balanced assignment is left unchanged."""
        made = Balance({T: (4, ["a", "b"])}, ["a", "b"])
        made.keep("a", {T}, {T: frozenset({0, 3})})
        made.keep("b", {T}, {T: frozenset({1, 2})})
        made.even_out()
        self.assertEqual(made.result()["a"], {T: frozenset({0, 3})})

    def test_bounded(self) -> None:
        """The assignment stays complete, though not balanced, when the steps are used up."""
        self.patch(balance, "MOST_STEPS", 0)
        made = Balance({T: (4, ["a", "b"])}, ["a", "b"])
        made.keep("a", {T}, {T: frozenset({0, 1, 2, 3})})
        made.even_out()
        self.assertEqual(sum(counts(made).values()), 4)
