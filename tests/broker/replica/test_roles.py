"""The roles of a broker for a partition."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.roles import (
    NO_ROLE,
    OFFLINE,
    Following,
    Leading,
    LeaseEnded,
    choose_role,
    refusal_code,
    was_moved,
)
from kafkatx.errors import ErrorCode
from kafkatx.types import NO_LEADER, PartitionState


class RoleTests(SynchronousTestCase):
    def test_table(self) -> None:
        """A broker leads or follows as the state says, if its log can be used."""
        refused, failed = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR
        for leader, replicas, acts, offline, role, error in (
            (1, (1, 2), True, False, Leading(3), ErrorCode.NONE),
            (1, (1, 2), False, False, NO_ROLE, refused),
            (2, (1, 2), True, False, Following(2, 3), refused),
            (2, (1, 2), False, False, NO_ROLE, refused),
            (2, (2, 3), True, False, NO_ROLE, refused),
            (NO_LEADER, (1, 2), True, False, NO_ROLE, refused),
            (1, (1, 2), True, True, OFFLINE, failed),
            (2, (1, 2), True, True, OFFLINE, failed),
        ):
            chosen = choose_role(PartitionState(leader, 3, replicas, replicas), 1, acts, offline)
            self.assertEqual((chosen, chosen.error), (role, error))

    def test_epochs(self) -> None:
        """Leading and following in another epoch is another role; going on in the same one is not."""
        for leader in (1, 2):
            first, second, third = (
                choose_role(PartitionState(leader, epoch, (1, 2), (1, 2)), 1, True, False)
                for epoch in (3, 3, 4)
            )
            self.assertEqual(first, second)
            self.assertNotEqual(first, third)

    def test_was_moved(self) -> None:
        """A replica was moved away if the state before said so; one that is just missing was not."""
        moving = PartitionState(2, 3, (2, 3, 1), (2, 3), 7, adding=(2, 3), removing=(1,))
        done = attrs.evolve(moving, replicas=(2, 3), adding=(), removing=(), partition_epoch=8)
        cancelled = attrs.evolve(moving, replicas=(1,), adding=(), removing=(), partition_epoch=8)
        for broker_id, before, after, expected in (
            (1, moving, done, True),
            (2, moving, done, False),
            (3, moving, cancelled, True),
            (1, moving, cancelled, False),
            (1, moving, attrs.evolve(done, partition_epoch=7), False),
            (1, attrs.evolve(moving, removing=()), done, False),
            (4, moving, done, False),
        ):
            self.assertEqual(was_moved(broker_id, before, after), expected, (broker_id, after))

    def test_refusals(self) -> None:
        """Without a lease another broker leads; other failures are those of the disk."""
        self.assertEqual(refusal_code(LeaseEnded()), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(refusal_code(OSError(28, "full")), ErrorCode.KAFKA_STORAGE_ERROR)
