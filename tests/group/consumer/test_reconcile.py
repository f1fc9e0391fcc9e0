"""One step of a member to its target: who gives up what, and when who gets it."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.consumer.assignment.partitions import Assignment
from kafkatx.group.consumer.member import Current, MemberState
from kafkatx.group.consumer.reconcile import reconcile

T, U = uuid.UUID(int=1), uuid.UUID(int=2)
STABLE, UNREVOKED = MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS
UNRELEASED, UNKNOWN = MemberState.UNRELEASED_PARTITIONS, MemberState.UNKNOWN


def some(*numbers: int, topic: uuid.UUID = T) -> Assignment:
    """Partitions of one topic."""
    return {topic: frozenset(numbers)} if numbers else {}


class ReconcileTests(SynchronousTestCase):
    def step(
        self,
        current: Current,
        target: Assignment,
        epoch: int = 5,
        owned: Assignment | None = None,
        taken: tuple[int, ...] = (),
    ) -> Current:
        """The next step, where *taken* of topic T belong to somebody."""
        return reconcile(
            current, target, epoch, owned, lambda topic, number: topic != T or number not in taken
        )

    def test_nothing_to_do(self) -> None:
        """Who has reached the target stays where it is."""
        current = Current(5, 4, STABLE, some(1))
        self.assertIs(self.step(current, some(1)), current)

    def test_assigned_at_once(self) -> None:
        """What is free is assigned in one step."""
        self.assertEqual(self.step(Current(), some(1, 2)), Current(5, 0, STABLE, some(1, 2)))

    def test_same_partitions_at_a_new_epoch(self) -> None:
        """Who keeps what it has moves to the new epoch only."""
        self.assertEqual(self.step(Current(4, 3, STABLE, some(1)), some(1)), Current(5, 4, STABLE, some(1)))

    def test_revoke_first(self) -> None:
        """Who must give up something gets nothing new and stays in its epoch until it has."""
        before = Current(4, 3, STABLE, some(1, 2))
        waiting = Current(4, 4, UNREVOKED, some(1), some(2))
        for owned in (None, some(1, 2), some(2)):
            self.assertEqual(self.step(before, some(1, 3), owned=owned), waiting)
            self.assertIs(self.step(waiting, some(1, 3), owned=owned), waiting)
        self.assertEqual(self.step(waiting, some(1, 3), owned=some(1)), Current(5, 4, STABLE, some(1, 3)))

    def test_already_revoked(self) -> None:
        """Who no longer owns what it is to give up need not be told to."""
        before = Current(4, 3, STABLE, some(1, 2))
        self.assertEqual(self.step(before, some(1), owned=some(1)), Current(5, 4, STABLE, some(1)))

    def test_target_moved_while_revoking(self) -> None:
        """Who has revoked goes one epoch on, and may have to revoke again for the newest target."""
        waiting = Current(4, 4, UNREVOKED, some(1, 2), some(3))
        again = self.step(waiting, some(1), epoch=9, owned=some(1, 2))
        self.assertEqual(again, Current(5, 4, UNREVOKED, some(1), some(2)))
        self.assertEqual(self.step(again, some(1), epoch=9, owned=some(1)), Current(9, 5, STABLE, some(1)))

    def test_unreleased(self) -> None:
        """What others still own is waited for; what is free of the rest is assigned."""
        waiting = self.step(Current(4, 3, STABLE, some(1)), some(1, 2, 3), taken=(1, 3))
        self.assertEqual(waiting, Current(5, 4, UNRELEASED, some(1, 2)))
        still = self.step(waiting, some(1, 2, 3), taken=(1, 2, 3))
        self.assertEqual((still.state, still.assigned), (UNRELEASED, some(1, 2)))
        done = self.step(waiting, some(1, 2, 3), taken=(1, 2))
        self.assertEqual((done.state, done.epoch, done.assigned), (STABLE, 5, some(1, 2, 3)))

    def test_unreleased_and_nothing_free(self) -> None:
        """Who can get nothing yet is at the new epoch with what it has."""
        waiting = self.step(Current(), some(1), taken=(1,))
        self.assertEqual(waiting, Current(5, 0, UNRELEASED))

    def test_unreleased_must_revoke(self) -> None:
        """A new target may make a member that waits give up something first."""
        waiting = Current(4, 3, UNRELEASED, some(1))
        self.assertEqual(self.step(waiting, some(2), owned=some(1)), Current(4, 4, UNREVOKED, {}, some(1)))

    def test_own_partition_comes_back(self) -> None:
        """What a member is giving up is nobody's before that is written, its own neither."""
        waiting = Current(4, 4, UNREVOKED, some(1), some(2))
        back = self.step(waiting, some(1, 2), owned=some(1), taken=(1, 2))
        self.assertEqual(back, Current(5, 4, UNRELEASED, some(1)))

    def test_topics_apart(self) -> None:
        """Partitions of the same number in different topics are different partitions."""
        before = Current(4, 3, STABLE, some(1))
        waiting = self.step(before, some(1, topic=U), owned=some(1))
        self.assertEqual(waiting, Current(4, 4, UNREVOKED, {}, some(1)))
        self.assertEqual(
            self.step(waiting, some(1, topic=U), owned=some(1, topic=U)),
            Current(5, 4, STABLE, some(1, topic=U)),
        )

    def test_unknown_state(self) -> None:
        """A member in a state of a later version begins anew: it must own nothing."""
        unknown = Current(4, 3, UNKNOWN, some(1))
        for owned in (None, some(1)):
            error = self.assertRaises(RequestError, self.step, unknown, some(1), owned=owned)
            self.assertEqual(error.code, ErrorCode.FENCED_MEMBER_EPOCH)
        self.assertEqual(self.step(unknown, some(1), owned={}), Current(5, 4, STABLE, some(1)))
