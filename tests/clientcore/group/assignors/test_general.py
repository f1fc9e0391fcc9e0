"""Tests of kafkatx.clientcore.group.assignors.general."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import Assignments, Member
from kafkatx.clientcore.group.assignors.claims import Claim, resolve_claims
from kafkatx.clientcore.group.assignors.general import GeneralAssignment
from kafkatx.types import TopicPartition
from tests.clientcore.group.assignors.members import members, numbers


def assign(
    known: dict[str, Member],
    partitions: dict[str, int],
    generation: int = 1,
    older: dict[str, list[TopicPartition]] | None = None,
    **held: list[TopicPartition],
) -> Assignments:
    """Assign partitions to members that hold some; *older* are claims of the generation before."""
    claims = {member: Claim(tuple(held.get(member, ())), generation) for member in known}
    for member, before in (older or {}).items():
        claims[member] = Claim(tuple(before), generation - 1)
    return GeneralAssignment(known, resolve_claims(claims, partitions), partitions).assign()


def partitions_of(topic: str, *numbers_: int) -> list[TopicPartition]:
    """Return partitions of a topic."""
    return [TopicPartition(topic, number) for number in numbers_]


class GeneralAssignmentTests(SynchronousTestCase):
    def test_even(self) -> None:
        """Members get equal shares although one subscribes to less; topics with few subscribers are first."""
        given = assign(members(a="t", b="tu"), {"t": 2, "u": 2})
        self.assertEqual(numbers(given), {"a": ["t0", "t1"], "b": ["u0", "u1"]})

    def test_subscribers_only(self) -> None:
        """A topic without subscribers is not assigned, and partitions go to subscribers only."""
        given = assign(members(a="t", b="u"), {"t": 3, "u": 1, "v": 2})
        self.assertEqual(numbers(given), {"a": ["t0", "t1", "t2"], "b": ["u0"]})

    def test_keeps(self) -> None:
        """A balanced assignment stays as it is."""
        before = partitions_of("t", 0) + partitions_of("u", 0)
        given = assign(members(a="t", b="tu"), {"t": 2, "u": 1}, a=partitions_of("t", 1), b=before)
        self.assertEqual(numbers(given), {"a": ["t1"], "b": ["t0", "u0"]})

    def test_moves_from_the_largest(self) -> None:
        """Partitions move from a member with at least two more than another subscriber."""
        given = assign(members(a="t", b="tu"), {"t": 4, "u": 1}, a=partitions_of("t", 0, 1, 2, 3))
        self.assertEqual({member: len(mine) for member, mine in given.items()}, {"a": 3, "b": 2})

    def test_unsubscribed(self) -> None:
        """A member loses partitions of a topic that it has unsubscribed from."""
        given = assign(
            members(a="u", b="tu"), {"t": 1, "u": 1}, a=partitions_of("t", 0) + partitions_of("u", 0)
        )
        self.assertEqual(numbers(given), {"a": ["u0"], "b": ["t0"]})

    def test_back_to_an_older_owner(self) -> None:
        """A partition that has to move goes to its owner of an older generation, if that has few enough."""
        known = members(a="t", b="tu", c="tu")
        held = partitions_of("t", 0, 1, 2, 3)
        given = assign(known, {"t": 4}, generation=2, older={"c": partitions_of("t", 0)}, a=held)
        self.assertIn(TopicPartition("t", 0), given["c"])
