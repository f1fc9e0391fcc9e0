"""Tests of kafkatx.clientcore.group.assignors.constrained."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors.claims import Claim, resolve_claims
from kafkatx.clientcore.group.assignors.constrained import ConstrainedAssignment
from kafkatx.types import TopicPartition
from tests.clientcore.group.assignors.members import numbers

T = [TopicPartition("t", number) for number in range(8)]


def assignment(count: int, **claims: tuple[list[TopicPartition], int]) -> ConstrainedAssignment:
    """Return an assignment of one topic to members with these claims."""
    partitions = {"t": count}
    known = {member: Claim(tuple(held), generation) for member, (held, generation) in claims.items()}
    return ConstrainedAssignment(resolve_claims(known, partitions), partitions)


class ConstrainedAssignmentTests(SynchronousTestCase):
    def test_quotas(self) -> None:
        """Shares differ by one at most; members below the quota are served in turn."""
        given = assignment(7, a=([], -1), b=([], -1), c=([], -1)).assign()
        self.assertEqual(numbers(given), {"a": ["t0", "t3", "t6"], "b": ["t1", "t4"], "c": ["t2", "t5"]})

    def test_extra_stays_with_its_owner(self) -> None:
        """A member that owns one more than the lower quota keeps it while there are extra partitions."""
        given = assignment(3, a=([T[0]], 1), b=([T[1], T[2]], 1)).assign()
        self.assertEqual(numbers(given), {"a": ["t0"], "b": ["t1", "t2"]})

    def test_surplus_is_transferred(self) -> None:
        """Partitions above a member's quota go to others, and are known to be in transfer."""
        known = assignment(4, a=(T[:4], 1), b=([], -1))
        self.assertEqual(numbers(known.assign()), {"a": ["t0", "t1"], "b": ["t2", "t3"]})
        self.assertEqual(known.transferring, {T[2]: "b", T[3]: "b"})

    def test_unowned_is_not_transferred(self) -> None:
        """A partition without an owner is assigned without a transfer."""
        known = assignment(2, a=([T[0]], 1), b=([], -1))
        known.assign()
        self.assertEqual(known.transferring, {})

    def test_disputed_is_transferred(self) -> None:
        """A partition that two members of a generation claim may still be read by either."""
        known = assignment(2, a=([T[0]], 1), b=([T[0]], 1))
        given = known.assign()
        self.assertEqual(sorted(at for mine in given.values() for at in mine), T[:2])
        self.assertEqual(list(known.transferring), [T[0]])

    def test_fewer_partitions_than_members(self) -> None:
        """Some members get no partitions if there are fewer partitions than members."""
        given = assignment(1, a=([], -1), b=([], -1)).assign()
        self.assertEqual(numbers(given), {"a": ["t0"], "b": []})
