"""The roles of a broker for a partition."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.roles import (
    NO_ROLE,
    OFFLINE,
    Following,
    Leading,
    LeaseEnded,
    choose_role,
    refusal_code,
)
from kafkatx.errors import ErrorCode
from kafkatx.types import NO_LEADER, PartitionState


class RoleTests(SynchronousTestCase):
    def test_table(self) -> None:
        """A broker leads or follows as the state says, if its log can be used."""
        refused, failed = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR
        for leader, replicas, may_lead, offline, role, error in (
            (1, (1, 2), True, False, Leading(3), ErrorCode.NONE),
            (1, (1, 2), False, False, NO_ROLE, refused),
            (2, (1, 2), False, False, Following(2, 3), refused),
            (2, (2, 3), False, False, NO_ROLE, refused),
            (NO_LEADER, (1, 2), False, False, NO_ROLE, refused),
            (1, (1, 2), True, True, OFFLINE, failed),
            (2, (1, 2), False, True, OFFLINE, failed),
        ):
            chosen = choose_role(PartitionState(leader, 3, replicas, replicas), 1, may_lead, offline)
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

    def test_refusals(self) -> None:
        """Without a lease another broker leads; other failures are those of the disk."""
        self.assertEqual(refusal_code(LeaseEnded()), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(refusal_code(OSError(28, "full")), ErrorCode.KAFKA_STORAGE_ERROR)
