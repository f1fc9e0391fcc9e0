"""Tests of kafkatx.clientcore.group.assignors.claims."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors.claims import Claim, ResolvedClaims, resolve_claims
from kafkatx.types import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def resolve(**claims: tuple[tuple[TopicPartition, ...], int]) -> ResolvedClaims:
    """Resolve the claims of members to a topic of two partitions."""
    return resolve_claims({member: Claim(*claim) for member, claim in claims.items()}, {"t": 2})


class ResolveClaimsTests(SynchronousTestCase):
    def test_newest_generation(self) -> None:
        """The claim of the newest generation wins, whatever the order of members."""
        for first, second in (("a", "b"), ("b", "a")):
            resolved = resolve(**{first: ((T0, T1), 1), second: ((T1,), 2)})
            self.assertEqual(resolved.held, {first: [T0], second: [T1]})
            self.assertEqual(resolved.disputed, set())

    def test_same_generation(self) -> None:
        """Two members of the same generation dispute a partition, and neither keeps it."""
        resolved = resolve(a=((T0, T1), 2), b=((T1,), 2))
        self.assertEqual((resolved.held, resolved.disputed), ({"a": [T0], "b": []}, {T1}))

    def test_newer_claim_ends_a_dispute(self) -> None:
        """A dispute of an older generation does not matter to the member with a newer claim."""
        resolved = resolve(a=((T0,), 1), b=((T0,), 1), c=((T0,), 2))
        self.assertEqual((resolved.held["c"], resolved.disputed), ([T0], set()))

    def test_missing_partitions(self) -> None:
        """Partitions that do not exist, and repeated ones, do not count."""
        resolved = resolve(a=((T0, T2, T0, TopicPartition("u", 0), TopicPartition("t", -1)), 1))
        self.assertEqual((resolved.held, resolved.disputed), ({"a": [T0]}, set()))

    def test_older(self) -> None:
        """Owners of older generations are known, the last one of each partition."""
        resolved = resolve(a=((T0, T1), 1), b=((T0,), 2), c=((T1,), 3))
        self.assertEqual(resolved.older, {T0: "b", T1: "a"})
