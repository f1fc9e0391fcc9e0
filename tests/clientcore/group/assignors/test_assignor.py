"""Tests of kafkatx.clientcore.group.assignors.assignor."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import Assignor, Member
from kafkatx.clientcore.group.assignors.assignor import member_order


class AssignorTests(SynchronousTestCase):
    def test_static_members_first(self) -> None:
        """Static members are ordered by instance id, before the others by member id."""
        members = [
            Member("b", frozenset()),
            Member("z", frozenset(), "one"),
            Member("a", frozenset()),
            Member("c", frozenset(), "two"),
        ]
        ordered = [member.member_id for member in sorted(members, key=member_order)]
        self.assertEqual(ordered, ["z", "c", "a", "b"])

    def test_defaults(self) -> None:
        """An assignor is eager and sends no user data unless it says otherwise."""
        assignor = Assignor("own", lambda members, partitions: {})
        self.assertFalse(assignor.cooperative)
        self.assertIsNone(assignor.user_data((), 3))
