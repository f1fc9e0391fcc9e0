"""Properties of every assignment, for any members."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import (
    COOPERATIVE_STICKY,
    RANGE,
    ROUND_ROBIN,
    STICKY,
    Assignments,
    Assignor,
    Member,
)
from tests.clientcore.group.assignors.members import (
    IDS,
    TOPICS,
    after,
    complete,
    counts,
    even,
    groups,
    kept,
    valid,
)

ALL = st.sampled_from((RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY))
STICKIES = st.sampled_from((STICKY, COOPERATIVE_STICKY))
GROUPS = st.booleans().flatmap(groups)
ROUNDS = 3
"""So many rebalances at most until a cooperative group is where it wants to be."""


def settle(assignor: Assignor, known: dict[str, Member], partitions: dict[str, int]) -> dict[str, Member]:
    """Rebalance until nothing changes; return the members with what they own then."""
    for generation in range(10, 10 + ROUNDS):
        before = known
        known = after(assignor, known, assignor.assign(known, partitions), generation)
        if all(set(known[one].owned) == set(before[one].owned) for one in known):
            break
    return known


def owned(known: dict[str, Member]) -> Assignments:
    """Return all members' partitions."""
    return {name: list(member.owned) for name, member in known.items()}


class AssignmentTests(SynchronousTestCase):
    @settings(max_examples=200, deadline=None)
    @given(ALL, GROUPS, counts())
    def test_new(self, assignor: Assignor, known: dict[str, Member], partitions: dict[str, int]) -> None:
        """New members get all partitions of subscribed topics, each once, and no others."""
        result = assignor.assign(known, partitions)
        self.assertTrue(valid(known, partitions, result))
        self.assertTrue(complete(known, partitions, result))

    @settings(max_examples=200, deadline=None)
    @given(STICKIES, GROUPS, counts())
    def test_even(self, assignor: Assignor, known: dict[str, Member], partitions: dict[str, int]) -> None:
        """No single move makes a sticky assignment more even, and a second rebalance moves nothing."""
        result = assignor.assign(known, partitions)
        self.assertTrue(even(known, result))
        known = after(assignor, known, result, 1)
        again = assignor.assign(known, partitions)
        self.assertEqual({n: sorted(m) for n, m in again.items()}, {n: sorted(m) for n, m in result.items()})

    @settings(max_examples=200, deadline=None)
    @given(STICKIES, GROUPS, counts(), GROUPS, counts())
    def test_changed(
        self,
        assignor: Assignor,
        before: dict[str, Member],
        counted: dict[str, int],
        others: dict[str, Member],
        recounted: dict[str, int],
    ) -> None:
        """An assignment is valid at once, and soon even, after members come, leave or resubscribe."""
        had = after(assignor, before, assignor.assign(before, counted), 1)
        known = {n: had[n]._replace(topics=m.topics) if n in had else m for n, m in others.items()}
        first = assignor.assign(known, recounted)
        self.assertTrue(valid(known, recounted, first))
        known = settle(assignor, known, recounted)
        self.assertTrue(complete(known, recounted, owned(known)))
        self.assertTrue(even(known, owned(known)))

    @settings(max_examples=200, deadline=None)
    @given(GROUPS, counts(), GROUPS)
    def test_cooperative(
        self, before: dict[str, Member], partitions: dict[str, int], others: dict[str, Member]
    ) -> None:
        """An owned partition is never assigned to another member while it is revoked (KIP-429)."""
        had = after(COOPERATIVE_STICKY, before, COOPERATIVE_STICKY.assign(before, partitions), 1)
        known = {n: had[n]._replace(topics=m.topics) if n in had else m for n, m in others.items()}
        result = COOPERATIVE_STICKY.assign(known, partitions)
        owner = {at: name for name, member in known.items() for at in member.owned}
        for name, mine in result.items():
            for at in mine:
                self.assertIn(owner.get(at, name), (name,))

    @settings(max_examples=200, deadline=None)
    @given(STICKIES, groups(same=True), counts(), st.sampled_from(IDS))
    def test_sticky(
        self, assignor: Assignor, known: dict[str, Member], partitions: dict[str, int], leaver: str
    ) -> None:
        """After a member with the common subscription leaves, the others keep all that they have."""
        known = after(assignor, known, assignor.assign(known, partitions), 1)
        known.pop(leaver, None)
        if known:
            result = assignor.assign(known, partitions)
            self.assertEqual(kept(known, result), sum(len(member.owned) for member in known.values()))

    @settings(max_examples=100, deadline=None)
    @given(ALL, GROUPS, counts(), st.randoms(use_true_random=False))
    def test_order(
        self,
        assignor: Assignor,
        known: dict[str, Member],
        partitions: dict[str, int],
        draw: random.Random,
    ) -> None:
        """The order of members and topics does not matter."""
        known = after(assignor, known, assignor.assign(known, partitions), 1)
        names, topics = list(known), list(partitions)
        draw.shuffle(names)
        draw.shuffle(topics)
        shuffled = assignor.assign({n: known[n] for n in names}, {t: partitions[t] for t in topics})
        self.assertEqual(
            {n: sorted(m) for n, m in shuffled.items()},
            {n: sorted(m) for n, m in assignor.assign(known, partitions).items()},
        )

    def test_large(self) -> None:
        """50 members with different subscriptions to 1,000 partitions take a moment, not minutes."""
        known = {f"m{i:02}": Member(f"m{i:02}", frozenset(TOPICS[: 1 + i % len(TOPICS)])) for i in range(50)}
        partitions = dict.fromkeys(TOPICS, 250)
        result = STICKY.assign(known, partitions)
        self.assertTrue(complete(known, partitions, result))
        self.assertTrue(even(known, result))
