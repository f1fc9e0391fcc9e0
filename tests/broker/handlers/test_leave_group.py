"""LeaveGroup: one member, or many."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from tests.broker.coordinated import groups_of
from tests.broker.members import MembersTestCase

ONE, MANY = range(3), range(3, 6)
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


class LeaveGroupTests(MembersTestCase):
    def test_one(self) -> None:
        """Before version 3 one member leaves, and the error is the response's."""
        for version in ONE:
            (member,) = self.settle(group=f"group {version}")
            codes = [
                self.leave(name, version=version, group=f"group {version}").error_code
                for name in ("other", member, member)
            ]
            self.assertEqual(codes, [UNKNOWN, 0, UNKNOWN])

    def test_many(self) -> None:
        """Each member has an error of its own from version 3 on."""
        for version in MANY:
            group = f"group {version}"
            first, second = self.settle(2, group)
            response = self.leave(first, "other", second, version=version, group=group)
            self.assertEqual(response.error_code, 0)
            self.assertEqual(
                [(m.member_id, m.error_code) for m in response.members],
                [(first, 0), ("other", UNKNOWN), (second, 0)],
            )
            self.assertEqual(groups_of(self.broker)[group].state, "Empty")

    def test_unknown_group(self) -> None:
        """Members of a missing group are unknown."""
        for version in ONE:
            self.assertEqual(self.leave("a", version=version).error_code, UNKNOWN)
        for version in MANY:
            response = self.leave("a", "b", version=version)
            self.assertEqual(response.error_code, 0)
            self.assertEqual(
                [(m.member_id, m.error_code) for m in response.members], [("a", UNKNOWN), ("b", UNKNOWN)]
            )
        self.assertEqual(groups_of(self.broker), {})

    def test_not_served(self) -> None:
        """A group that cannot be served is an error of the whole request."""
        self.assertEqual(self.leave("a", group="").error_code, ErrorCode.INVALID_GROUP_ID)
        self.set_loading()
        self.assertEqual(self.leave("a").error_code, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
