"""Group members of a broker in memory: requests that wait, and stable groups."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from twisted.internet.defer import Deferred, succeed

from kafkatx.broker.coordinator.runtime.runtime import CoordinatorRuntime
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkatx.wire.schema import Message
from tests.broker.running import BrokerTestCase

JOIN, HEARTBEAT, LEAVE, SYNC = 11, 12, 13, 14
DELAY_S = 3.0
SESSION_MS = 10_000
WITHOUT_ID_UNTIL = 3
"""The last JoinGroup version that admits members without MEMBER_ID_REQUIRED (KIP-394)."""


class MembersTestCase(BrokerTestCase):
    """A test case whose ``later`` sends requests that may wait; ``settle`` makes a stable group."""

    settings: ClassVar[Mapping[str, str]] = {
        "group.initial.rebalance.delay.ms": str(int(DELAY_S * 1000)),
        "offsets.topic.num.partitions": "3",
    }

    def later(self, key: int, version: int, request: Message) -> Deferred[Any]:
        """Return a Deferred that fires with the decoded response."""
        answer = self.answer(key, version, request)
        if isinstance(answer, Deferred):
            return answer.addCallback(lambda reply: self.response(key, version, reply))
        return succeed(self.response(key, version, answer))

    def join(
        self,
        member_id: str = "",
        version: int = WITHOUT_ID_UNTIL,
        group: str = "g",
        session_ms: int = SESSION_MS,
        protocols: tuple[str, ...] = ("range",),
        protocol_type: str = "consumer",
    ) -> Deferred[Any]:
        """Send a JoinGroup."""
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=30_000,
            member_id=member_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name, b"metadata") for name in protocols],
        )
        return self.later(JOIN, version, request)

    def join_code(self, **how: Any) -> ErrorCode:
        """Return the error that a JoinGroup is answered with at once."""
        return ErrorCode.of(self.successResultOf(self.join(**how)).error_code)

    def sync(
        self,
        member_id: str,
        generation: int,
        version: int = 3,
        group: str = "g",
        parts: Mapping[str, bytes] = MappingProxyType({}),
    ) -> Deferred[Any]:
        """Send a SyncGroup; the leader gives every member id its assignment."""
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(name, part) for name, part in parts.items()],
        )
        return self.later(SYNC, version, request)

    def beat(self, member_id: str, generation: int, version: int = 3, group: str = "g") -> ErrorCode:
        """Return the error of a Heartbeat."""
        request = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id)
        return ErrorCode.of(self.ask(HEARTBEAT, version, request).error_code)

    def leave(self, *member_ids: str, version: int = 3, group: str = "g") -> Any:
        """Return the response to a LeaveGroup, before version 3 of the one member."""
        request = LeaveGroupRequest(
            group, member_ids[0] if member_ids else "", [MemberIdentity(name) for name in member_ids]
        )
        return self.ask(LEAVE, version, request)

    def settle(self, count: int = 1, group: str = "g") -> list[str]:
        """Make a stable group of new members, in generation 1; return their ids, the leader first."""
        joining = [self.join(group=group) for _ in range(count)]
        for _ in range(2):  # members that join meanwhile extend the wait by as much again
            self.clock.advance(DELAY_S)
        joined = [self.successResultOf(one) for one in joining]
        leader = joined[0].leader
        ids = [leader, *(one.member_id for one in joined if one.member_id != leader)]
        parts = {name: name.encode() for name in ids}
        for name in ids:
            synced = self.sync(name, 1, group=group, parts=parts if name == leader else {})
            self.assertEqual(self.successResultOf(synced).assignment, name.encode())
        return ids

    def set_loading(self) -> None:
        """Make ``__consumer_offsets`` look as if it were being loaded."""
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self.patch(self.broker.groups, "check", lambda group_id, may_be_empty=False: loading)
        self.patch(CoordinatorRuntime, "loading", True)
