"""Tests of the rules of in-sync replicas that the controller and the leaders share."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Check
from kafkatx.metadata.controller.isr import (
    incarnation_checks,
    is_lost,
    is_stale,
    next_eligible,
    without_lost,
)
from kafkatx.types import ClusterState, PartitionState
from tests.metadata.controller.cases import broker, cluster


def state(isr: Sequence[int], eligible: Sequence[int] = (), revision: int = 50) -> PartitionState:
    """Return a state with the replicas 3, 1, 2 and 4."""
    return PartitionState(3, 5, (3, 1, 2, 4), tuple(isr), 7, revision, eligible=tuple(eligible))


class EligibleTests(SynchronousTestCase):
    def test_enough(self) -> None:
        """No broker is eligible while enough replicas are in sync; those that were are no more."""
        self.assertEqual(next_eligible(state([1, 2, 3]), [1, 2], 2), ())
        self.assertEqual(next_eligible(state([1], [2]), [1, 4], 2), ())
        self.assertEqual(next_eligible(state([1], [2]), [1], 1), ())

    def test_too_few(self) -> None:
        """Brokers that leave stay eligible while too few are in sync, in the order of the replicas."""
        self.assertEqual(next_eligible(state([2, 1, 3]), [1], 2), (3, 2))
        self.assertEqual(next_eligible(state([1], [2, 3]), [1], 2), (3, 2))
        self.assertEqual(next_eligible(state([1, 2], [4]), [2], 3), (1, 4))

    def test_joined_again(self) -> None:
        """An eligible broker that is in sync again is not eligible."""
        self.assertEqual(next_eligible(state([1], [2, 3]), [1, 2], 3), (3,))

    def test_removed_replica(self) -> None:
        """A broker that is no replica any more is not eligible."""
        self.assertEqual(next_eligible(state([1, 9]), [1], 2), ())

    def test_more_than_there_are(self) -> None:
        """All replicas in sync are enough, whatever min.insync.replicas is."""
        self.assertEqual(next_eligible(state([1, 2, 3], [4]), [1, 2, 3, 4], 9), ())


class LostTests(SynchronousTestCase):
    def brokers(self, *ids: int, clean: bool = False, epoch: int = 60) -> ClusterState:
        """Return a cluster of live brokers."""
        return cluster((), *(broker(each, epoch, clean=clean) for each in ids))

    def test_is_lost(self) -> None:
        """Records may be lost if the machine has gone down since the state was written."""
        self.assertTrue(is_lost(1, state([1]), self.brokers(1)))
        self.assertFalse(is_lost(1, state([1]), self.brokers(1, clean=True)))
        self.assertFalse(is_lost(1, state([1]), self.brokers(1, epoch=40)))
        self.assertFalse(is_lost(1, state([1]), self.brokers(2)))

    def test_earlier_life(self) -> None:
        """Records may be lost if the machine went down before an earlier life, live or not now."""
        for epoch, lost in ((49, False), (50, True), (55, True)):
            for brokers in ((1,), ()):
                found = attrs.evolve(self.brokers(*brokers, clean=True), lost_epochs={1: epoch})
                self.assertEqual(is_lost(1, state([1]), found), lost)

    def test_others_are_left(self) -> None:
        """Brokers that may have lost records are neither in sync nor eligible, if others are."""
        self.assertEqual(without_lost(state([1, 2], [3, 4]), self.brokers(1, 3)), state([2], [4]))

    def test_eligible_are_left(self) -> None:
        """Eligible brokers take the place of in-sync replicas that have all lost records."""
        self.assertEqual(without_lost(state([1, 2], [3, 4]), self.brokers(1, 2, 4)), state([3]))

    def test_nothing_is_left(self) -> None:
        """One of the in-sync replicas stays if all may have lost records."""
        self.assertEqual(without_lost(state([2, 1], [3]), self.brokers(1, 2, 3)), state([1]))
        self.assertEqual(without_lost(state([9, 8]), self.brokers(8, 9)), state([9]))

    def test_stale(self) -> None:
        """A broker with the logs of an earlier life stays for no other; if all are so the state stays."""
        for epoch, stale in ((49, False), (50, True)):
            found = attrs.evolve(self.brokers(1, 2, 3), stale_epochs={1: epoch})
            self.assertEqual(is_stale(1, state([1]), found), stale)
            self.assertEqual(without_lost(state([2, 1]), found), state([2] if stale else [1]))
        found = attrs.evolve(self.brokers(1, 2, 3), stale_epochs={1: 60, 2: 60})
        self.assertEqual(without_lost(state([2, 1], [3]), found), state([3]))
        both = state([2], [1])
        self.assertIs(without_lost(both, found), both)

    def test_nothing_lost(self) -> None:
        """A state of brokers that have lost nothing is the same object."""
        found = state([1, 2], [3])
        self.assertIs(without_lost(found, self.brokers(4)), found)


class CheckTests(SynchronousTestCase):
    def test_once(self) -> None:
        """Each named broker with a known incarnation is checked once."""
        found = incarnation_checks({1: 4, 2: 0, 3: -1, 5: 1}, [2, 1, 1, 3, 4])
        self.assertEqual(found, [Check("/kafkatx/incarnations/1", 4), Check("/kafkatx/incarnations/2", 0)])
