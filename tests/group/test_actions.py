"""Both kinds of group provide the interface that the broker uses, and actions keep their contents."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Answer, Client, Group, LogLine, Record, Replace, Store
from kafkatx.group.classic import ClassicGroup
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.settings import GroupSettings
from kafkatx.types import ClusterState
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.leave_group import LeaveGroupRequest
from kafkatx.wire.messages.sync_group import SyncGroupRequest

NOBODY = Client("c", "/127.0.0.1")


def groups() -> tuple[Group, ...]:
    """Return an empty group of each kind; that mypy accepts them shows that they have the right methods."""
    settings, state = GroupSettings(), ClusterState("c", 0)
    return (
        ClassicGroup("g", settings, str, lambda: 0),
        ConsumerGroup("g", lambda: settings, lambda: state, str, lambda: 0),
    )


class GroupTests(SynchronousTestCase):
    def test_empty(self) -> None:
        """A new group of either kind is Empty, has no members and waits for nothing."""
        for group in groups():
            self.assertEqual((group.state, group.has_members, group.deadline_ms), ("Empty", False, NEVER_MS))
            self.assertEqual((group.held_bytes, group.bytes_of("m", None), group.empty_since_ms), (0, 0, -1))
            self.assertFalse(group.subscribes("t"))

    def test_kinds(self) -> None:
        """Each kind has the name of its group type in ListGroups."""
        self.assertEqual([group.kind for group in groups()], ["classic", "consumer"])

    def test_advance(self) -> None:
        """There is nothing to do when time passes, nor after loading."""
        for group in groups():
            self.assertEqual((group.advance(10**9), group.loaded(10**9)), ([], []))

    def test_every_request_is_answered(self) -> None:
        """An unknown member is answered at once, with its own token."""
        for group in groups():
            requests = [
                group.sync(SyncGroupRequest(group_id="g", member_id="m"), 3, "sync", 0),
                group.leave(LeaveGroupRequest("g", "m"), 0, "leave", 0),
                group.join(JoinGroupRequest("g", 10_000, -1, "m", None, "consumer"), 3, NOBODY, "join", 0),
            ]
            answers = [action for actions in requests for action in actions if isinstance(action, Answer)]
            self.assertEqual([answer.token for answer in answers], ["sync", "leave", "join"])
            for answer in answers:
                self.assertNotEqual(answer.response.error_code, 0)

    def test_commits_without_members(self) -> None:
        """A group without members takes commits without a generation, and no others."""
        for group in groups():
            self.assertEqual(group.check_commit("", None, -1, 8, 0), ErrorCode.NONE)
            self.assertEqual(group.check_commit("m", None, 1, 8, 0), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_tombstones(self) -> None:
        """The records that remove a group have no values."""
        for group in groups():
            records = group.tombstones()
            self.assertTrue(records)
            self.assertEqual({record.value for record in records}, {None})


class ActionTests(SynchronousTestCase):
    def test_values(self) -> None:
        """Actions are tuples: two with the same contents are equal, and a line is a warning only if told."""
        self.assertEqual(Store([Record(b"k", None)]), Store([Record(b"k", None)]))
        self.assertFalse(LogLine("text", {}).warn)
        (classic, _) = groups()
        self.assertIs(Replace(classic).group, classic)
