"""One step of a member to its target: revoked partitions, and when others get them."""

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
    """Return partitions of one topic."""
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
        """Take the next step, where the partitions in *taken* of topic T have owners."""
        return reconcile(
            current, target, epoch, owned, lambda topic, number: topic != T or number not in taken
        )

    def test_nothing_to_do(self) -> None:
        """A member that has reached its target does not change."""
        current = Current(5, 4, STABLE, some(1))
        self.assertIs(self.step(current, some(1)), current)

    def test_assigned_at_once(self) -> None:
        """Free partitions are assigned in one step."""
        self.assertEqual(self.step(Current(), some(1, 2)), Current(5, 0, STABLE, some(1, 2)))

    def test_same_partitions_at_a_new_epoch(self) -> None:
        """A member that keeps its partitions only moves to the new epoch."""
        self.assertEqual(self.step(Current(4, 3, STABLE, some(1)), some(1)), Current(5, 4, STABLE, some(1)))

    def test_revoke_first(self) -> None:
        """A member that must revoke gets nothing new, and stays in its epoch until it has revoked."""
        before = Current(4, 3, STABLE, some(1, 2))
        waiting = Current(4, 4, UNREVOKED, some(1), some(2))
        for owned in (None, some(1, 2), some(2)):
            self.assertEqual(self.step(before, some(1, 3), owned=owned), waiting)
            self.assertIs(self.step(waiting, some(1, 3), owned=owned), waiting)
        self.assertEqual(self.step(waiting, some(1, 3), owned=some(1)), Current(5, 4, STABLE, some(1, 3)))

    def test_already_revoked(self) -> None:
        """A member that no longer owns the partitions to revoke is not told to revoke them."""
        before = Current(4, 3, STABLE, some(1, 2))
        self.assertEqual(self.step(before, some(1), owned=some(1)), Current(5, 4, STABLE, some(1)))

    def test_target_moved_while_revoking(self) -> None:
        """A member that has revoked advances one epoch, and may revoke again for the newest target."""
        waiting = Current(4, 4, UNREVOKED, some(1, 2), some(3))
        again = self.step(waiting, some(1), epoch=9, owned=some(1, 2))
        self.assertEqual(again, Current(5, 4, UNREVOKED, some(1), some(2)))
        self.assertEqual(self.step(again, some(1), epoch=9, owned=some(1)), Current(9, 5, STABLE, some(1)))

    def test_unreleased(self) -> None:
        """Partitions that others still own are waited for; free ones are assigned."""
        waiting = self.step(Current(4, 3, STABLE, some(1)), some(1, 2, 3), taken=(1, 3))
        self.assertEqual(waiting, Current(5, 4, UNRELEASED, some(1, 2)))
        still = self.step(waiting, some(1, 2, 3), taken=(1, 2, 3))
        self.assertEqual((still.state, still.assigned), (UNRELEASED, some(1, 2)))
        done = self.step(waiting, some(1, 2, 3), taken=(1, 2))
        self.assertEqual((done.state, done.epoch, done.assigned), (STABLE, 5, some(1, 2, 3)))

    def test_unreleased_and_nothing_free(self) -> None:
        """A member that can get nothing yet is in the new epoch with its present partitions."""
        waiting = self.step(Current(), some(1), taken=(1,))
        self.assertEqual(waiting, Current(5, 0, UNRELEASED))

    def test_unreleased_must_revoke(self) -> None:
        """A new target may make a waiting member revoke partitions first."""
        waiting = Current(4, 3, UNRELEASED, some(1))
        self.assertEqual(self.step(waiting, some(2), owned=some(1)), Current(4, 4, UNREVOKED, {}, some(1)))

    def test_own_partition_comes_back(self) -> None:
        """A partition that a member is revoking is free for no member before that is written."""
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
        """A member in a state of a later version begins without partitions."""
        unknown = Current(4, 3, UNKNOWN, some(1))
        for owned in (None, some(1)):
            error = self.assertRaises(RequestError, self.step, unknown, some(1), owned=owned)
            self.assertEqual(error.code, ErrorCode.FENCED_MEMBER_EPOCH)
        self.assertEqual(self.step(unknown, some(1), owned={}), Current(5, 4, STABLE, some(1)))
