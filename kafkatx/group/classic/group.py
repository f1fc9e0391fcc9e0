"""A classic group, whole: what :class:`~kafkatx.group.actions.Group` promises to the broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action, Record
from kafkatx.group.classic import records
from kafkatx.group.classic.join import Joining
from kafkatx.group.classic.member import Member, rebalance_timeout_of
from kafkatx.group.classic.roster import Roster
from kafkatx.group.classic.states import Event, State
from kafkatx.group.protocol import PROTOCOL_TYPE
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

MANY_LEAVE_SINCE = 3
"""From this version of LeaveGroup on many members may leave, each with an error of its own (KIP-345)."""


class ClassicGroup(Joining):
    """The group that JoinGroup, SyncGroup, Heartbeat and LeaveGroup are about.

    A request may come between a :class:`~kafkatx.group.actions.Store` and its ``stored``; stores end in the
    order in which they were asked for.
    """

    @classmethod
    def of(
        cls,
        group_id: str,
        settings: GroupSettings,
        new_member_id: Callable[[str], str],
        wall_ms: Callable[[], int],
        members: Iterable[Member],
        generation: int,
        now_ms: int,
    ) -> ClassicGroup:
        """A group of consumers that used another protocol (KIP-848), about to rebalance.

        :param members: at least one; all offer one protocol at least that is common to them.
        :param generation: what they take for their generation: the epoch of the group they come from.
        """
        group = cls(group_id, settings, new_member_id, wall_ms)
        group._take(members, PROTOCOL_TYPE, generation, now_ms)
        group.protocol_name = group._roster.select_protocol()
        group._subscribed = group._subscribed_topics()
        group.state_since_ms = wall_ms()
        group._rebalance("the group has gone back to the classic protocol", now_ms)
        return group

    def replay(self, value: bytes, now_ms: int) -> None:
        """Become what a record of the group says; the sessions of its members begin now.

        :raises ProtocolViolation: it is no such record.
        """
        stored = records.decode_value(value)
        self.protocol_name = stored.protocol or None
        members = [
            Member(
                m.member_id,
                m.group_instance_id,
                m.client_id,
                m.client_host,
                rebalance_timeout_of(m.rebalance_timeout, m.session_timeout),
                m.session_timeout,
                ((self.protocol_name or "", bytes(m.subscription)),),
                bytes(m.assignment),
            )
            for m in stored.members
        ]
        self._take(members, stored.protocol_type, stored.generation, now_ms)
        if stored.leader in self.members:
            self._roster.leader = stored.leader
        self._subscribed = self._subscribed_topics()
        self.state_since_ms = stored.current_state_timestamp

    def _take(self, members: Iterable[Member], protocol_type: str, generation: int, now_ms: int) -> None:
        """Begin with these members."""
        self._roster = Roster(members)
        self._state = State.STABLE if self.members else State.EMPTY
        self.protocol_type = protocol_type
        self.generation = generation
        self._sessions_ms = NEVER_MS
        self._assigned_bytes = sum(len(member.assignment) for member in self.members.values())
        for member in self.members.values():
            self._touch(member, now_ms)

    def loaded(self, now_ms: int) -> list[Action]:
        """All records are replayed: sessions begin now, and a group that is too large rebalances."""
        for member in self.members.values():
            self._touch(member, now_ms)
        if len(self.members) > self._settings.max_size:
            self._rebalance("the group is larger than group.max.size", now_ms)
        return self._done()

    def unload(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """The group ends here: who waits is answered with *error*, and nobody is a member any more.

        :param error: NOT_COORDINATOR, or REBALANCE_IN_PROGRESS where the group goes on with another protocol.
        """
        for member in self.members.values():
            self._end_waiting(member, error)
        self._roster = Roster()
        self._assigned_bytes = 0
        self._unsynced.clear()
        self._join_deadline_ms = self._sync_deadline_ms = self._sessions_ms = NEVER_MS
        self._move(Event.UNLOADED)
        return self._done()

    @property
    def empty_since_ms(self) -> int:
        """When it lost its last member, on the wall clock; -1: it has members, or who knows."""
        return self.state_since_ms if self._state is State.EMPTY and self.protocol_type else -1

    def heartbeat(self, request: HeartbeatRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """A sign of life. Only during the join phase is the answer REBALANCE_IN_PROGRESS.

        Consumers begin with heartbeats when they have joined: before they have synced these are as good as
        later (KAFKA-10134; before 2.7 Apache Kafka answered REBALANCE_IN_PROGRESS then too).
        """
        error = self._check_generation(request.member_id, request.group_instance_id, request.generation_id)
        if not error:
            self._touch(self._roster.members[request.member_id], now_ms)
            if self._state is State.PREPARING_REBALANCE:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        self._answer(token, HeartbeatResponse(error_code=error))
        return self._done()

    def leave(self, request: LeaveGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Remove members; those who stay rebalance once, however many have left."""
        if self._state is State.DEAD:
            self._answer(token, LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return self._done()
        many = version >= MANY_LEAVE_SINCE
        before = len(self.members)
        results = [
            MemberResponse(who.member_id, who.group_instance_id, self._leave(who))
            for who in (request.members if many else [MemberIdentity(request.member_id)])
        ]
        error = ErrorCode.NONE if many else results[0].error_code
        self._answer(token, LeaveGroupResponse(error_code=error, members=results))
        self._after_leaving(before - len(self.members), "members have left", now_ms)
        return self._done()

    def _leave(self, who: MemberIdentity) -> ErrorCode:
        """Remove one: a member, whoever stands for an instance, or somebody who was only given an id."""
        if self._roster.forget(who.member_id):
            return ErrorCode.NONE
        member_id = who.member_id
        if not member_id:  # an administrator removes it, who knows only the instance
            known = self._roster.instance(who.group_instance_id)
            member_id = known.member_id if known is not None else ""
        error = self._check_member(member_id, who.group_instance_id)
        if not error:
            self._remove(self._roster.members[member_id], f"it has left: {who.reason or 'no reason given'}")
        return error

    def check_commit(
        self, member_id: str, group_instance_id: str | None, generation: int, version: int, now_ms: int
    ) -> ErrorCode:
        """Whether offsets may be committed so (ClassicGroup.validateOffsetCommit).

        Without a generation only a group without members takes them. During the join phase they are taken:
        consumers commit before they join again.
        """
        if self._state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if self._state is State.EMPTY and generation < 0:
            return ErrorCode.NONE
        error = self._check_generation(member_id, group_instance_id, generation)
        if error:
            return error
        if self._state is State.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        self._touch(self._roster.members[member_id], now_ms)
        return ErrorCode.NONE

    def check_fetch(self, member_id: str | None, member_epoch: int, now_ms: int) -> ErrorCode:
        """Anybody may fetch the offsets of a classic group."""
        return ErrorCode.GROUP_ID_NOT_FOUND if self._state is State.DEAD else ErrorCode.NONE

    def subscribes(self, topic: str) -> bool:
        """Whether a member may be consuming the topic; yes, where nobody can tell."""
        if self._subscribed is None or self._state is State.PREPARING_REBALANCE:
            return self.has_members
        return topic in self._subscribed

    def describe(self) -> DescribedGroup:
        """The group as DescribeGroups shows it; protocol, metadata and assignments only of a STABLE one."""
        stable = self._state is State.STABLE
        return DescribedGroup(
            group_id=self.group_id,
            group_state=self.state,
            protocol_type=self.protocol_type,
            protocol_data=(self.protocol_name or "") if stable else "",
            members=[
                DescribedGroupMember(
                    m.member_id,
                    m.group_instance_id,
                    m.client_id,
                    m.client_host,
                    m.metadata(self.protocol_name) if stable else b"",
                    m.assignment if stable else b"",
                )
                for m in self.members.values()
            ],
        )

    def tombstones(self) -> list[Record]:
        """The record that takes the group out of ``__consumer_offsets``."""
        return [Record(records.encode_key(self.group_id), None)]
