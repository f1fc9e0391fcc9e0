"""Requests of classic members to a consumer group: errors, and the way back to a classic group."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Action, Answer, Client, Replace, Store
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupRequest
from tests.group.classic.driver import subscription
from tests.group.consumer.driver import cluster, topic

CLIENT = Client("c", "/127.0.0.1")


def join_request(member_id: str = "", instance: str | None = None) -> JoinGroupRequest:
    """Return the request of a consumer that subscribes to ``t``."""
    protocols = [JoinGroupRequestProtocol("range", subscription("t", version=0))]
    return JoinGroupRequest("g", 10_000, 60_000, member_id, instance, "consumer", protocols)


class ClassicRequestsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group with one member of the consumer protocol."""
        ids = iter(range(99))
        self.group = ConsumerGroup(
            "g",
            GroupSettings,
            lambda: cluster(topic("t", 2)),
            lambda prefix: f"{prefix}-{next(ids)}",
            lambda: 0,
        )

    def consumer(self, instance: str | None = None) -> str:
        """Add a member of the consumer protocol."""
        request = ConsumerGroupHeartbeatRequest(
            "g", "k", 0, instance, None, 60_000, ["t"], topic_partitions=[]
        )
        self.run_actions(self.group.consumer_heartbeat(request, 0, CLIENT, "k", 0))
        return "k"

    def run_actions(self, actions: list[Action]) -> list[Action]:
        """Perform stores at once; return all other actions."""
        done: list[Action] = []
        while actions:
            action, *actions = actions
            if isinstance(action, Replace):
                self.replaced = action.group
            if isinstance(action, Store):
                actions = [*self.group.stored(ErrorCode.NONE, 0), *actions]
            else:
                done.append(action)
        return done

    def error(self, actions: list[Action]) -> int:
        """Return the error of the only answer."""
        (answer,) = [action for action in self.run_actions(actions) if isinstance(action, Answer)]
        code: int = answer.response.error_code
        return code

    def test_needs_id(self) -> None:
        """A new member is given an id from version 4 on."""
        self.consumer()
        join = self.group.join
        self.assertEqual(self.error(join(join_request(), 4, CLIENT, 1, 0)), ErrorCode.MEMBER_ID_REQUIRED)
        self.assertEqual(self.error(join(join_request(), 3, CLIENT, 2, 0)), ErrorCode.NONE)

    def test_refused_names(self) -> None:
        """A refused join has no protocol name: null from version 7 on, empty before."""
        for version, name in ((7, None), (6, "")):
            (answer,) = self.group.join(join_request("unknown"), version, CLIENT, 1, 0)
            assert isinstance(answer, Answer)
            self.assertEqual(answer.response.error_code, ErrorCode.UNKNOWN_MEMBER_ID)
            self.assertEqual(answer.response.protocol_name, name)

    def test_unknown(self) -> None:
        """Other requests of unknown members are refused with their own responses."""
        self.consumer()
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        sync = SyncGroupRequest("g", 1, "x", None, "consumer", "range")
        self.assertEqual(self.error(self.group.sync(sync, 5, 1, 0)), unknown)
        self.assertEqual(self.error(self.group.heartbeat(HeartbeatRequest("g", 1, "x"), 4, 2, 0)), unknown)
        self.assertEqual(self.error(self.group.leave(LeaveGroupRequest("g", "x"), 2, 3, 0)), unknown)

    def test_leave_some(self) -> None:
        """Each of several members in a LeaveGroup has its own result."""
        self.consumer()
        member_id = "m"
        self.run_actions(self.group.join(join_request(member_id), 3, CLIENT, 1, 0))
        leaving = [MemberIdentity("x"), MemberIdentity(member_id)]
        actions = self.run_actions(self.group.leave(LeaveGroupRequest("g", "", leaving), 5, 2, 0))
        (answer,) = [action for action in actions if isinstance(action, Answer)]
        self.assertEqual([m.error_code for m in answer.response.members], [ErrorCode.UNKNOWN_MEMBER_ID, 0])

    def test_empty_group(self) -> None:
        """An empty group becomes a classic one when a classic member joins it."""
        self.run_actions(self.group.join(join_request(), 3, CLIENT, 1, 0))
        self.assertIsInstance(self.replaced, ClassicGroup)
        self.assertEqual(self.group.state, "Dead")

    def test_replaces_the_last_consumer(self) -> None:
        """A classic member that takes the place of the last consumer takes the group back."""
        self.consumer("i")
        self.run_actions(self.group.join(join_request("", "i"), 5, CLIENT, 1, 0))
        assert isinstance(self.replaced, ClassicGroup)
        self.assertEqual([m.group_instance_id for m in self.replaced.members.values()], ["i"])
