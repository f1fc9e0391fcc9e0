"""The classic group: it serves the group requests through its parts, and is restored from its record. Pure.

A group owns an :class:`~kafkatx.group.classic.outbox.Outbox` and a
:class:`~kafkatx.group.classic.membership.Membership`, on which its other parts work:

*   :class:`~kafkatx.group.classic.rebalance.Rebalance`: the join and sync phases and their deadlines;
*   :class:`~kafkatx.group.classic.join.JoinRequests` and :class:`~kafkatx.group.classic.sync.SyncRequests`:
    the requests of the two phases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Action, Client, Record
from kafkatx.group.classic import records
from kafkatx.group.classic.join import JoinRequests
from kafkatx.group.classic.member import Member, rebalance_timeout_of
from kafkatx.group.classic.membership import Membership
from kafkatx.group.classic.outbox import Outbox
from kafkatx.group.classic.rebalance import Rebalance
from kafkatx.group.classic.states import Event, State
from kafkatx.group.classic.sync import SyncRequests
from kafkatx.group.protocol import PROTOCOL_TYPE
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from kafkatx.wire.messages.sync_group import SyncGroupRequest

MANY_LEAVE_SINCE = 3
"""The first version of LeaveGroup in which several members leave, each with its own error (KIP-345)."""


class ClassicGroup:
    """A group of the classic protocol; provides :class:`~kafkatx.group.actions.Group`.

    A request may come between a :class:`~kafkatx.group.actions.Store` and its ``stored``; stores end in the
    order in which they were asked for.
    """

    kind = "classic"

    def __init__(
        self,
        group_id: str,
        settings: GroupSettings,
        new_member_id: Callable[[str], str],
        wall_ms: Callable[[], int],
    ) -> None:
        """Make a group without members.

        :param new_member_id: returns a new member id that begins with its argument.
        :param wall_ms: the wall clock, for times that are stored.
        """
        self.group_id = group_id
        self._settings = settings
        self._outbox = outbox = Outbox()
        self._membership = membership = Membership(group_id, outbox, wall_ms)
        self._rebalance = Rebalance(membership, outbox, settings)
        self._joins = JoinRequests(membership, self._rebalance, outbox, settings, new_member_id)
        self._syncs = SyncRequests(membership, self._rebalance, outbox)

    @classmethod
    def from_members(
        cls,
        group_id: str,
        settings: GroupSettings,
        new_member_id: Callable[[str], str],
        wall_ms: Callable[[], int],
        members: Iterable[Member],
        generation: int,
        now_ms: int,
    ) -> ClassicGroup:
        """Make a group of consumers that used another protocol (KIP-848); it rebalances at once.

        :param members: at least one; all offer at least one common protocol.
        :param generation: the members' current generation: the epoch of the group that they come from.
        """
        group = cls(group_id, settings, new_member_id, wall_ms)
        group._membership.reset(members, PROTOCOL_TYPE, generation, now_ms)
        group._membership.select_protocol()
        group._membership.stamp()
        group._rebalance.begin("the group has gone back to the classic protocol", now_ms)
        return group

    # Properties

    @property
    def state(self) -> str:
        """The state's name in DescribeGroups and ListGroups."""
        return self._membership.state.value

    @property
    def state_since_ms(self) -> int:
        """The time of the last state change, on the wall clock; -1 if there was none or it is not known."""
        return self._membership.state_since_ms

    @property
    def generation(self) -> int:
        """The number of rebalances so far; it never decreases."""
        return self._membership.generation

    @property
    def protocol_type(self) -> str:
        """The protocol type of the members, ``consumer`` for example; empty if there never was a member."""
        return self._membership.protocol_type

    @property
    def protocol_name(self) -> str | None:
        """The protocol selected for this generation, or None."""
        return self._membership.protocol_name

    @property
    def members(self) -> Mapping[str, Member]:
        """The members by member id."""
        return MappingProxyType(self._membership.members)

    @property
    def has_members(self) -> bool:
        """True if there are members."""
        return bool(self._membership.members)

    @property
    def member_count(self) -> int:
        """The number of members."""
        return len(self._membership.members)

    @property
    def leader(self) -> str | None:
        """The member id of the leader; None if there are no members."""
        return self._membership.roster.leader

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the members and their assignments."""
        return self._membership.held_bytes

    @property
    def empty_since_ms(self) -> int:
        """The time when the last member left, on the wall clock; -1 if not known or there are members."""
        empty = self._membership.state is State.EMPTY and self.protocol_type
        return self.state_since_ms if empty else -1

    @property
    def deadline_ms(self) -> int:
        """The time of the next call of :meth:`advance`; nothing may be due yet when it comes."""
        return min(self._rebalance.deadline_ms, self._membership.sessions_ms)

    def bytes_of(self, member_id: str, group_instance_id: str | None) -> int:
        """Return a member's part of :attr:`held_bytes`, without its assignment; 0 if it is unknown."""
        roster = self._membership.roster
        known = roster.members.get(member_id) or roster.instance(group_instance_id)
        return 0 if known is None else known.held_bytes

    def subscribes(self, topic: str) -> bool:
        """Return True if a member may be consuming the topic, also if the subscriptions cannot be read."""
        subscribed = self._membership.subscribed
        if subscribed is None or self._membership.state is State.PREPARING_REBALANCE:
            return self.has_members
        return topic in subscribed

    # Records, loading and unloading

    def record(self) -> Record:
        """Return the record of the group in ``__consumer_offsets``."""
        return self._membership.record()

    def tombstones(self) -> list[Record]:
        """Return the records that remove the group from ``__consumer_offsets``."""
        return [Record(records.encode_key(self.group_id), None)]

    def replay(self, value: bytes, now_ms: int) -> None:
        """Take the state of a stored record; the sessions of its members begin now.

        :raises ProtocolViolation: the value is not a group's.
        """
        membership = self._membership
        stored = records.decode_value(value)
        membership.protocol_name = stored.protocol or None
        members = [
            Member(
                m.member_id,
                m.group_instance_id,
                m.client_id,
                m.client_host,
                rebalance_timeout_of(m.rebalance_timeout, m.session_timeout),
                m.session_timeout,
                ((stored.protocol or "", bytes(m.subscription)),),
                bytes(m.assignment),
            )
            for m in stored.members
        ]
        membership.reset(members, stored.protocol_type, stored.generation, now_ms)
        if stored.leader in membership.members:
            membership.roster.leader = stored.leader
        membership.read_subscriptions()
        membership.state_since_ms = stored.current_state_timestamp

    def loaded(self, now_ms: int) -> list[Action]:
        """Restart all sessions after the last record was replayed; rebalance if the group is too large."""
        self._membership.touch_all(now_ms)
        if len(self._membership.members) > self._settings.max_size:
            self._rebalance.begin("the group is larger than group.max.size", now_ms)
        return self._outbox.take()

    def unload(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """End the group: answer all waiting requests with *error* and forget the members.

        :param error: NOT_COORDINATOR, or REBALANCE_IN_PROGRESS if the group continues with another protocol.
        """
        membership = self._membership
        for member in membership.members.values():
            membership.end_waiting(member, error)
        membership.clear()
        self._rebalance.stop()
        membership.move(Event.UNLOADED)
        return self._outbox.take()

    # Time

    def advance(self, now_ms: int) -> list[Action]:
        """Remove members whose sessions have ended, and end the phases whose time is over."""
        membership = self._membership
        if membership.sessions_ms <= now_ms:
            count = membership.expire(now_ms)
            self._rebalance.members_left(count, "sessions of members have ended", now_ms)
            membership.sessions_ms = membership.roster.expires_ms
        self._rebalance.advance(now_ms)
        return self._outbox.take()

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """Continue after the oldest unfinished :class:`~kafkatx.group.actions.Store`."""
        self._outbox.stored(error, now_ms)
        return self._outbox.take()

    # Requests

    def join(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> list[Action]:
        """Serve a JoinGroup, at once or at the end of the join phase."""
        self._joins.serve(request, version, client, token, now_ms)
        return self._outbox.take()

    def sync(self, request: SyncGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a SyncGroup, at once or when the leader's assignment is stored."""
        self._syncs.serve(request, version, token, now_ms)
        return self._outbox.take()

    def heartbeat(self, request: HeartbeatRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a Heartbeat. The answer is REBALANCE_IN_PROGRESS only during the join phase.

        Consumers start heartbeats after they have joined. Before they have synced these are as good as later
        (KAFKA-10134; Apache Kafka before 2.7 answered REBALANCE_IN_PROGRESS then, too).
        """
        membership = self._membership
        error = membership.check_generation(
            request.member_id, request.group_instance_id, request.generation_id
        )
        if not error:
            membership.touch(membership.members[request.member_id], now_ms)
            if membership.state is State.PREPARING_REBALANCE:
                error = ErrorCode.REBALANCE_IN_PROGRESS
        self._outbox.answer(token, HeartbeatResponse(error_code=error))
        return self._outbox.take()

    def leave(self, request: LeaveGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a LeaveGroup; the remaining members rebalance once, however many have left."""
        membership = self._membership
        if membership.state is State.DEAD:
            self._outbox.answer(token, LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return self._outbox.take()
        many = version >= MANY_LEAVE_SINCE
        before = len(membership.members)
        results = [
            MemberResponse(leaving.member_id, leaving.group_instance_id, self._leave(leaving))
            for leaving in (request.members if many else [MemberIdentity(request.member_id)])
        ]
        error = ErrorCode.NONE if many else results[0].error_code
        self._outbox.answer(token, LeaveGroupResponse(error_code=error, members=results))
        self._rebalance.members_left(before - len(membership.members), "members have left", now_ms)
        return self._outbox.take()

    def _leave(self, leaving: MemberIdentity) -> ErrorCode:
        """Remove a member or a pending member id.

        An administrator removes a static member by its instance id alone.
        """
        membership = self._membership
        if membership.roster.forget(leaving.member_id):
            return ErrorCode.NONE
        member_id = leaving.member_id
        if not member_id:
            known = membership.roster.instance(leaving.group_instance_id)
            member_id = known.member_id if known is not None else ""
        error = membership.check_member(member_id, leaving.group_instance_id)
        if not error:
            reason = f"it has left: {leaving.reason or 'no reason given'}"
            membership.remove(membership.members[member_id], reason)
        return error

    def check_commit(
        self, member_id: str, group_instance_id: str | None, generation: int, version: int, now_ms: int
    ) -> ErrorCode:
        """Return the error of an offset commit, NONE if it is allowed (``validateOffsetCommit``).

        Without a generation only a group without members accepts commits. Commits are accepted during the
        join phase: consumers commit before they join again.
        """
        membership = self._membership
        if membership.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if membership.state is State.EMPTY and generation < 0:
            return ErrorCode.NONE
        error = membership.check_generation(member_id, group_instance_id, generation)
        if error:
            return error
        if membership.state is State.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        membership.touch(membership.members[member_id], now_ms)
        return ErrorCode.NONE

    def check_fetch(self, member_id: str | None, member_epoch: int, now_ms: int) -> ErrorCode:
        """Return GROUP_ID_NOT_FOUND for a DEAD group; any client may fetch the offsets of a classic group."""
        return ErrorCode.GROUP_ID_NOT_FOUND if self._membership.state is State.DEAD else ErrorCode.NONE

    def describe(self) -> DescribedGroup:
        """Return the group for DescribeGroups; protocol, metadata and assignments only if it is STABLE."""
        stable = self._membership.state is State.STABLE
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
