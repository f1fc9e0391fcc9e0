"""A classic group, and a driver that sends it requests and performs its actions, for tests."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action, Answer, Client, LogLine, Record, Store
from kafkatx.group.classic import ClassicGroup
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SETTINGS = GroupSettings(initial_rebalance_delay_ms=3000, min_session_timeout_ms=6000)
NOW_MS = 1_000_000
WALL_MS = 1_700_000_000_000
SESSION_MS, REBALANCE_MS = 10_000, 60_000
RANGE = (("range", b"r"),)


def subscription(*topics: str, version: int = 1, user_data: bytes = b"", rest: bytes = b"") -> bytes:
    """Return the metadata of a consumer: its subscription, and the fields that later versions add."""
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return (
        struct.pack(">hi", version, len(topics))
        + names
        + struct.pack(">i", len(user_data))
        + user_data
        + rest
    )


class GroupDriver:
    """Sends requests to a group, performs its actions at once, and keeps its answers.

    Every answer is encoded and decoded in the version of its request, and a second one to the same token is
    an error. Tokens are small integers.

    :ivar errors: how the next stores end; NONE once it is empty.
    :ivar holds: keep stores until :meth:`end_store`, as if the disk had to be waited for.
    """

    def __init__(self, settings: GroupSettings = SETTINGS, group: ClassicGroup | None = None) -> None:
        self.now_ms = NOW_MS
        self._ids = 0
        self.group = group or ClassicGroup("g", settings, self.new_member_id, self.wall_ms)
        self.answers: dict[int, Any] = {}
        self.versions: dict[int, int] = {}
        self.records: list[Record] = []
        self.errors: list[ErrorCode] = []
        self.holds = False
        self.held = 0
        self.told: list[LogLine] = []

    def new_member_id(self, prefix: str) -> str:
        """Return ``prefix-1``, ``prefix-2``, ..."""
        self._ids += 1
        return f"{prefix}-{self._ids}"

    def wall_ms(self) -> int:
        """Return the time of the wall clock, which differs from the group's clock by a constant."""
        return WALL_MS + self.now_ms

    # Performing the group's actions

    def perform(self, actions: Sequence[Action]) -> None:
        """Perform the actions of the group."""
        for action in actions:
            if isinstance(action, Answer):
                self._answered(action.token, action.response)
            elif isinstance(action, Store):
                self.records += action.records
                self.held += 1
                if not self.holds:
                    self.end_store()
            else:
                assert isinstance(action, LogLine)
                action.text.format(group="g", **action.values)
                self.told.append(action)

    def _answered(self, token: Any, response: Any) -> None:
        assert token not in self.answers, f"{token} was answered before"
        version = self.versions[token]
        self.answers[token] = decode(type(response), version, encode(response, version))

    def end_store(self) -> None:
        """Complete the oldest store that is held."""
        self.held -= 1
        error = self.errors.pop(0) if self.errors else ErrorCode.NONE
        self.perform(self.group.stored(error, self.now_ms))

    def pass_ms(self, ms: int) -> None:
        """Advance the time, and call the group at each of its deadlines."""
        end_ms = self.now_ms + ms
        while self.group.deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, self.group.deadline_ms)
            self.perform(self.group.advance(self.now_ms))
            assert self.group.deadline_ms > self.now_ms
        self.now_ms = end_ms

    # Sending requests

    def _token(self, version: int) -> int:
        token = len(self.versions)
        self.versions[token] = version
        return token

    def join(
        self,
        member_id: str = "",
        *,
        version: int = 9,
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = RANGE,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        protocol_type: str = "consumer",
        client: str = "c",
        reason: str | None = None,
    ) -> int:
        """Send a JoinGroup; return its token."""
        offered = [JoinGroupRequestProtocol(name, metadata) for name, metadata in protocols]
        request = JoinGroupRequest(
            "g", session_ms, rebalance_ms, member_id, instance, protocol_type, offered, reason
        )
        request = decode(JoinGroupRequest, version, encode(request, version))
        token = self._token(version)
        self.perform(self.group.join(request, version, Client(client, "/10.0.0.1"), token, self.now_ms))
        return token

    def sync(
        self,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        *,
        generation: int | None = None,
        version: int = 5,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> int:
        """Send a SyncGroup of the present generation; return its token."""
        request = SyncGroupRequest(
            "g",
            self.group.generation if generation is None else generation,
            member_id,
            instance,
            protocol_type,
            protocol_name,
            [SyncGroupRequestAssignment(who, what) for who, what in (assignments or {}).items()],
        )
        request = decode(SyncGroupRequest, version, encode(request, version))
        token = self._token(version)
        self.perform(self.group.sync(request, version, token, self.now_ms))
        return token

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance: str | None = None
    ) -> ErrorCode:
        """Send a Heartbeat of the present generation; return the error of its answer."""
        current = self.group.generation if generation is None else generation
        token = self._token(4)
        request = HeartbeatRequest("g", current, member_id, instance)
        self.perform(self.group.heartbeat(request, 4, token, self.now_ms))
        return self.error(token)

    def leave(self, *members: MemberIdentity | str, version: int = 5) -> Any:
        """Send a LeaveGroup; return its answer."""
        who = [MemberIdentity(m) if isinstance(m, str) else m for m in members]
        token = self._token(version)
        request = LeaveGroupRequest("g", who[0].member_id if who else "", who)
        request = decode(LeaveGroupRequest, version, encode(request, version))
        self.perform(self.group.leave(request, version, token, self.now_ms))
        return self.answers[token]

    def commit(self, member_id: str = "", generation: int = -1, instance: str | None = None) -> ErrorCode:
        """Return the error with which the group answers a commit of offsets."""
        return self.group.check_commit(member_id, instance, generation, 8, self.now_ms)

    # Reading answers

    def error(self, token: int) -> ErrorCode:
        """Return the error of an answer."""
        return ErrorCode(self.answers[token].error_code)

    def member(self, token: int) -> str:
        """Return the member id of a JoinGroup's answer."""
        member_id: str = self.answers[token].member_id
        return member_id

    @property
    def unused(self) -> bool:
        """True if the group holds no members, no deadline and no time since when it is empty."""
        group = self.group
        return not group.has_members and group.empty_since_ms < 0 and group.deadline_ms == NEVER_MS

    def waits(self, token: int) -> bool:
        """Return True if the request is not answered yet."""
        return token not in self.answers

    def stable(self, count: int, **options: Any) -> list[str]:
        """Join *count* new members, assign ``part of ID`` to each, and sync all; return their ids."""
        version = options.pop("version", 3)
        tokens = [self.join(version=version, **options) for _ in range(count)]
        self.pass_ms(SETTINGS.initial_rebalance_delay_ms * 2)
        return self.settle([self.member(token) for token in tokens])

    def settle(self, members: Sequence[str]) -> list[str]:
        """Sync the members; the leader assigns ``part of ID`` to each."""
        parts = {member: f"part of {member}".encode() for member in self.group.members}
        name = self.group.protocol_name
        for member in members:
            leads = member == self.group.leader
            self.sync(member, parts if leads else None, protocol_name=name, protocol_type=None, version=3)
        return list(members)
