"""SyncGroup: the leader assigns, and all members get their assignments."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from tests.broker.members import DELAY_S, MembersTestCase

VERSIONS = range(6)


class SyncGroupTests(MembersTestCase):
    def code(self, member: str, generation: int, group: str = "g") -> ErrorCode:
        """Return the error of a SyncGroup."""
        return ErrorCode.of(self.successResultOf(self.sync(member, generation, group=group)).error_code)

    def test_every_version(self) -> None:
        """A member of a stable group gets its assignment again."""
        _leader, second = self.settle(2)
        for version in VERSIONS:
            response = self.successResultOf(self.sync(second, 1, version))
            self.assertEqual((response.error_code, response.assignment), (0, second.encode()))

    def test_waits_for_the_leader(self) -> None:
        """Members wait until the leader has assigned, and the assignment is in the log."""
        joining = [self.join(), self.join()]
        self.clock.advance(DELAY_S)
        self.clock.advance(DELAY_S)
        leads, follows = (self.successResultOf(one).member_id for one in joining)
        if self.broker.groups.find("g").leader != leads:  # type: ignore[union-attr]
            leads, follows = follows, leads
        waiting = self.sync(follows, 1)
        self.assertNoResult(waiting)
        self.assertEqual(self.records(), 0)
        self.successResultOf(self.sync(leads, 1, parts={follows: b"part"}))
        self.assertEqual(self.successResultOf(waiting).assignment, b"part")
        self.assertEqual(self.records(), 1)

    def records(self) -> int:
        """Return the number of records in ``__consumer_offsets``."""
        return sum(len(self.stored(CONSUMER_OFFSETS, number)) for number in range(3))

    def test_not_a_member(self) -> None:
        """Unknown members, generations and groups have Kafka's own codes."""
        (member,) = self.settle()
        self.assertEqual(self.code("other", 1), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.code(member, 3), ErrorCode.ILLEGAL_GENERATION)
        self.assertEqual(self.code(member, 1, "other"), ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.code(member, 1, ""), ErrorCode.INVALID_GROUP_ID)

    def test_loading(self) -> None:
        """Members must join again while the group is being loaded."""
        self.set_loading()
        self.assertEqual(self.code("somebody", 7), ErrorCode.REBALANCE_IN_PROGRESS)
