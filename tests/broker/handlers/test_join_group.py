"""JoinGroup: checks before the group is asked, and members that wait."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred, fail

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import CONSUMER_OFFSETS
from tests.broker.coordinated import groups_of
from tests.broker.members import DELAY_S, SESSION_MS, WITHOUT_ID_UNTIL, MembersTestCase

VERSIONS = range(10)


class JoinGroupTests(MembersTestCase):
    def test_every_version(self) -> None:
        """A member joins a new group, from version 4 on with the id that it is given first."""
        for version in VERSIONS:
            group, member_id = f"group {version}", ""
            if version > WITHOUT_ID_UNTIL:
                told = self.successResultOf(self.join(version=version, group=group))
                self.assertEqual(told.error_code, ErrorCode.MEMBER_ID_REQUIRED)
                member_id = told.member_id
            joining = self.join(member_id, version, group)
            self.assertNoResult(joining)
            self.clock.advance(DELAY_S)
            joined = self.successResultOf(joining)
            self.assertEqual((joined.error_code, joined.generation_id), (0, 1), version)
            self.assertEqual((joined.protocol_name, joined.leader), ("range", joined.member_id))
            self.assertEqual([m.metadata for m in joined.members], [b"metadata"])
            self.assertTrue(joined.member_id.startswith("tests-"))

    def test_bad_group_id(self) -> None:
        """A group id must not be empty; 300 characters are allowed."""
        self.assertEqual(self.join_code(group=""), ErrorCode.INVALID_GROUP_ID)
        self.assertEqual(self.join_code(group="x" * 300, version=9), ErrorCode.MEMBER_ID_REQUIRED)

    def test_session_timeout(self) -> None:
        """A session timeout outside the broker's limits is refused, and no group is made."""
        for session_ms in (-1, 5999, 1_800_001):
            for member_id in ("", "somebody"):
                code = self.join_code(member_id=member_id, session_ms=session_ms)
                self.assertEqual(code, ErrorCode.INVALID_SESSION_TIMEOUT)
        self.assertEqual(groups_of(self.broker), {})
        for session_ms in (6000, 1_800_000):
            self.assertEqual(self.join_code(session_ms=session_ms, version=4), ErrorCode.MEMBER_ID_REQUIRED)

    def test_group_that_is_gone(self) -> None:
        """A member id of a missing group is UNKNOWN_MEMBER_ID."""
        response = self.successResultOf(self.join("somebody"))
        self.assertEqual(
            (response.error_code, response.member_id, response.generation_id),
            (ErrorCode.UNKNOWN_MEMBER_ID, "somebody", -1),
        )
        self.assertEqual(groups_of(self.broker), {})

    def test_protocol_name(self) -> None:
        """The protocol name of an error is null from version 7 on, and empty before that."""
        for version in VERSIONS:
            response = self.successResultOf(self.join("somebody", version))
            self.assertEqual(response.protocol_name, None if version >= 7 else "")

    def test_wrong_protocol(self) -> None:
        """A member without the group's protocol type or a common protocol is refused and leaves no state."""
        self.assertEqual(self.join_code(protocols=()), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.assertEqual(self.join_code(protocol_type=""), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.assertEqual(groups_of(self.broker), {})
        self.settle()
        self.assertEqual(self.join_code(protocol_type="connect"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        self.assertEqual(self.join_code(protocols=("other",)), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def test_given_id_never_used(self) -> None:
        """A group whose given member id is never used is forgotten when that session would have ended."""
        self.assertEqual(self.join_code(version=9), ErrorCode.MEMBER_ID_REQUIRED)
        self.clock.advance(SESSION_MS / 1000 - 0.001)
        self.assertIn("g", groups_of(self.broker))
        self.clock.advance(0.001)
        self.assertEqual(groups_of(self.broker), {})

    def test_loading(self) -> None:
        """No member can join while the group may be about to be loaded."""
        self.successResultOf(self.broker.groups.topic.ensure())
        self.set_loading()
        self.assertEqual(self.join_code(), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


class DroppedTests(MembersTestCase):
    def test_new_member(self) -> None:
        """A member that disconnects while it waits for its first join is kept for its session."""
        kept = self.join()
        dropped = self.join()
        dropped.cancel()
        self.failureResultOf(dropped, CancelledError)
        self.clock.advance(DELAY_S)
        self.clock.advance(DELAY_S)
        self.assertEqual(len(self.successResultOf(kept).members), 2)

    def test_member(self) -> None:
        """A disconnected member stays until its session ends; then the others continue without it."""
        leader, second, third = self.settle(3)
        kept, dropped = self.join(leader), self.join(second)
        dropped.cancel()
        self.failureResultOf(dropped, CancelledError)
        self.successResultOf(self.join(third))
        self.assertEqual(len(self.successResultOf(kept).members), 3)
        for _ in range(2):
            self.assertEqual({self.beat(name, 2) for name in (leader, third)}, {ErrorCode.NONE})
            self.clock.advance(SESSION_MS / 2000)
        self.assertEqual(self.beat(leader, 2), ErrorCode.REBALANCE_IN_PROGRESS)
        kept = self.join(leader)
        self.successResultOf(self.join(third))
        left = [member.member_id for member in self.successResultOf(kept).members]
        self.assertEqual(sorted(left), sorted([leader, third]))


class NoTopicTests(MembersTestCase):
    def test_made(self) -> None:
        """The first member causes ``__consumer_offsets`` to be created."""
        self.assertNotIn(CONSUMER_OFFSETS, self.broker.topics.partitions)
        self.assertEqual(self.join_code(version=9), ErrorCode.MEMBER_ID_REQUIRED)
        self.assertEqual(len(self.broker.topics.of(CONSUMER_OFFSETS)), 3)

    def test_takes_its_time(self) -> None:
        """Members that arrive while the topic is being created wait, and join then."""
        ready: Deferred[None] = Deferred()
        self.successResultOf(self.broker.groups.topic.ensure())
        self.patch(self.broker.topic_commands, "is_creating", lambda name: not ready.called)
        self.patch(self.broker.groups.topic, "ensure", lambda: ready)
        joining = self.join(version=9)
        self.assertNoResult(joining)
        self.assertEqual(groups_of(self.broker), {})
        ready.callback(None)
        self.assertEqual(self.successResultOf(joining).error_code, ErrorCode.MEMBER_ID_REQUIRED)

    def test_cannot_be_made(self) -> None:
        """The coordinator is not available if the topic cannot be created."""
        error = RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "no disk")
        self.patch(self.broker.groups.topic, "ensure", lambda: fail(error))
        self.assertEqual(self.join_code(), ErrorCode.COORDINATOR_NOT_AVAILABLE)
