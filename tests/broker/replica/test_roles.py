"""The roles of a broker for a partition."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.roles import (
    NOT_LEADING,
    OFFLINE,
    Leading,
    LeaseEnded,
    choose_role,
    refusal_code,
)
from kafkatx.errors import ErrorCode


class RoleTests(SynchronousTestCase):
    def test_table(self) -> None:
        """A broker leads a partition if the state says so and its log can be used."""
        for leads, offline, role, error in (
            (True, False, Leading(3), ErrorCode.NONE),
            (False, False, NOT_LEADING, ErrorCode.NOT_LEADER_OR_FOLLOWER),
            (True, True, OFFLINE, ErrorCode.KAFKA_STORAGE_ERROR),
            (False, True, OFFLINE, ErrorCode.KAFKA_STORAGE_ERROR),
        ):
            chosen = choose_role(3, leads, offline)
            self.assertEqual((chosen, chosen.error), (role, error))

    def test_epochs(self) -> None:
        """Leading in another epoch is another role; leading on in the same one is not."""
        self.assertEqual(choose_role(3, True, False), choose_role(3, True, False))
        self.assertNotEqual(choose_role(3, True, False), choose_role(4, True, False))

    def test_refusals(self) -> None:
        """Without a lease another broker leads; other failures are those of the disk."""
        self.assertEqual(refusal_code(LeaseEnded()), ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(refusal_code(OSError(28, "full")), ErrorCode.KAFKA_STORAGE_ERROR)
