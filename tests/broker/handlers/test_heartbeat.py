"""Heartbeat: member sessions and error codes."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from tests.broker.members import SESSION_MS, MembersTestCase

VERSIONS = range(5)


class HeartbeatTests(MembersTestCase):
    def test_every_version(self) -> None:
        """A member's heartbeat is answered at once, in every version."""
        (member,) = self.settle()
        for version in VERSIONS:
            self.assertEqual(self.beat(member, 1, version), ErrorCode.NONE)

    def test_keeps_alive(self) -> None:
        """A member stays with heartbeats, and is removed when its session ends without them."""
        (member,) = self.settle()
        for _ in range(10):
            self.clock.advance(SESSION_MS / 1000 - 1)
            self.assertEqual(self.beat(member, 1), ErrorCode.NONE)
        self.clock.advance(SESSION_MS / 1000)
        self.assertEqual(self.beat(member, 1), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_not_a_member(self) -> None:
        """Unknown members, generations and groups have Kafka's own codes."""
        (member,) = self.settle()
        self.assertEqual(self.beat("other", 1), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.beat(member, 2), ErrorCode.ILLEGAL_GENERATION)
        self.assertEqual(self.beat(member, 1, group="other"), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.beat(member, 1, group=""), ErrorCode.INVALID_GROUP_ID)

    def test_loading(self) -> None:
        """A heartbeat succeeds while the group is being loaded."""
        self.set_loading()
        self.assertEqual(self.beat("somebody", 7), ErrorCode.NONE)

    def test_not_available(self) -> None:
        """Any other reason not to serve the group is returned."""
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.patch(self.broker.groups, "check", lambda group_id, may_be_empty=False: code)
        self.assertEqual(self.beat("somebody", 7), code)
