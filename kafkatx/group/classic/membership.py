"""The members of a classic group, their sessions, and the generation that they form. Pure.

:class:`Membership` holds the data that all parts of a group work on. It knows nothing about when a group
rebalances: that is :class:`~kafkatx.group.classic.rebalance.Rebalance`. JoinGroup and SyncGroup are served by
:mod:`~kafkatx.group.classic.join` and :mod:`~kafkatx.group.classic.sync`; their successful responses are made
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Record
from kafkatx.group.classic import records
from kafkatx.group.classic.member import Member
from kafkatx.group.classic.outbox import Outbox
from kafkatx.group.classic.roster import Roster
from kafkatx.group.classic.states import Event, State, next_state
from kafkatx.group.classic.subscription import topics_of
from kafkatx.group.protocol import PROTOCOL_TYPE
from kafkatx.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from kafkatx.wire.messages.sync_group import SyncGroupResponse


class Membership:
    """The members of one group and their current generation.

    :ivar roster: the members, pending member ids and the leader.
    :ivar state: the group's state; changed by :meth:`move`.
    :ivar state_since_ms: the time of the last state change, on the wall clock; -1 if there was none or it is
        not known.
    :ivar generation: the number of rebalances so far; it never decreases.
    :ivar protocol_type: the protocol type of the members, ``consumer`` for example; empty if there never was
        a member.
    :ivar protocol_name: the protocol selected for this generation, or None.
    :ivar subscribed: the topics that the members subscribe to; None if they cannot be read.
    :ivar assigned_bytes: size of the last assignment, including members that have left since.
    :ivar sessions_ms: no session ends before this time.
    """

    def __init__(self, group_id: str, outbox: Outbox, wall_ms: Callable[[], int]) -> None:
        self.group_id = group_id
        self._outbox = outbox
        self._wall_ms = wall_ms
        self.roster = Roster()
        self.state = State.EMPTY
        self.state_since_ms = -1
        self.generation = 0
        self.protocol_type = ""
        self.protocol_name: str | None = None
        self.subscribed: frozenset[str] | None = frozenset()
        self.assigned_bytes = 0
        self.sessions_ms = NEVER_MS

    def reset(self, members: Iterable[Member], protocol_type: str, generation: int, now_ms: int) -> None:
        """Start with these members as a STABLE group, or as an EMPTY one; their sessions begin now."""
        self.roster = Roster(members)
        self.state = State.STABLE if self.members else State.EMPTY
        self.protocol_type = protocol_type
        self.generation = generation
        self.sessions_ms = NEVER_MS
        self.assigned_bytes = sum(len(member.assignment) for member in self.members.values())
        self.touch_all(now_ms)

    def clear(self) -> None:
        """Forget all members and pending member ids."""
        self.roster = Roster()
        self.assigned_bytes = 0
        self.sessions_ms = NEVER_MS

    def move(self, event: Event) -> None:
        """Change the state as the table says.

        :raises RuntimeError: the event cannot happen in the current state.
        """
        self.state = next_state(self.state, event)
        self.stamp()

    def stamp(self) -> None:
        """Set the time of the last state change to now."""
        self.state_since_ms = self._wall_ms()

    @property
    def members(self) -> dict[str, Member]:
        """The members by member id."""
        return self.roster.members

    @property
    def held_bytes(self) -> int:
        """Approximate memory of the members and their assignments."""
        return self.roster.held_bytes + self.assigned_bytes

    # Checks of requests

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Return the error for a request of this member, NONE if it is a member.

        A static member whose instance id has another member id by now is fenced (KIP-345).
        """
        if self.state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if group_instance_id is not None:
            known = self.roster.instance(group_instance_id)
            if known is not None and known.member_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_generation(self, member_id: str, group_instance_id: str | None, generation: int) -> ErrorCode:
        """Return the error for a request of this member in this generation, NONE if both are current."""
        error = self.check_member(member_id, group_instance_id)
        if not error and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    # Sessions

    def touch(self, member: Member, now_ms: int, timeout_ms: int | None = None) -> None:
        """Restart a member's session.

        :param timeout_ms: the session's length, if not the member's session time-out.
        """
        member.deadline_ms = now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
        self.check_sessions_by(member.deadline_ms)

    def touch_all(self, now_ms: int) -> None:
        """Restart the sessions of all members."""
        for member in self.members.values():
            self.touch(member, now_ms)

    def check_sessions_by(self, deadline_ms: int) -> None:
        """Check all sessions no later than *deadline_ms*.

        A heartbeat moves the end of one session, but never ``sessions_ms`` to a later time: otherwise each
        heartbeat would have to look at all members.
        """
        if deadline_ms < self.sessions_ms:
            self.sessions_ms = deadline_ms

    def expire(self, now_ms: int) -> int:
        """Remove members and pending member ids whose time is over; return the number of members removed."""
        for member_id in [name for name, end_ms in self.roster.pending.items() if end_ms <= now_ms]:
            self.roster.forget(member_id)
        silent = [m for m in self.members.values() if m.expires_ms <= now_ms]
        for member in silent:
            self.remove(member, "its session ended without a heartbeat", warn=True)
        return len(silent)

    # Members and their waiting requests

    def remove(self, member: Member, reason: str, warn: bool = False) -> None:
        """Remove a member and answer its waiting requests with UNKNOWN_MEMBER_ID, so that it joins anew."""
        self.end_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID)
        self.roster.remove(member)
        text = "member {member} of group {group} was removed: {reason}"
        self._outbox.log(text, warn, member=member.member_id, reason=reason)

    def end_waiting(self, member: Member, error: ErrorCode) -> None:
        """Answer a member's waiting requests with an error."""
        member_id = "" if error is ErrorCode.UNKNOWN_MEMBER_ID else member.member_id
        self.end_join(member, JoinGroupResponse(error_code=error, member_id=member_id))
        self.end_sync(member, SyncGroupResponse(error_code=error))

    def end_join(self, member: Member, response: JoinGroupResponse) -> None:
        """Answer a member's waiting JoinGroup, if there is one."""
        if member.join_token is not None:
            self._outbox.answer(member.join_token, response)
            member.join_token = None

    def end_sync(self, member: Member, response: SyncGroupResponse) -> bool:
        """Answer a member's waiting SyncGroup; return False if there is none."""
        if member.sync_token is None:
            return False
        self._outbox.answer(member.sync_token, response)
        member.sync_token = None
        return True

    # Protocol and subscriptions

    def select_protocol(self) -> None:
        """Select the protocol of this generation. There must be members."""
        self.protocol_name = self.roster.select_protocol()
        self.read_subscriptions()

    def read_subscriptions(self) -> None:
        """Set the subscribed topics to those in the members' metadata."""
        if self.protocol_type != PROTOCOL_TYPE:
            self.subscribed = None
        else:
            self.subscribed = topics_of(m.metadata(self.protocol_name) for m in self.members.values())

    def record(self, assignments: Mapping[str, bytes] | None = None) -> Record:
        """Return the record of the group in ``__consumer_offsets``.

        :param assignments: an assignment by member id to store in place of the members' current ones.
        """
        members = [
            records.MemberMetadata(
                m.member_id,
                m.group_instance_id,
                m.client_id,
                m.client_host,
                m.rebalance_timeout_ms,
                m.session_timeout_ms,
                m.metadata(self.protocol_name),
                m.assignment if assignments is None else assignments.get(m.member_id, b""),
            )
            for m in self.members.values()
        ]
        value = records.GroupMetadataValue(
            self.protocol_type,
            self.generation,
            self.protocol_name,
            self.roster.leader,
            self.state_since_ms,
            members,
        )
        return Record(records.encode_key(self.group_id), records.encode_value(value))


def join_response(
    membership: Membership,
    member: Member,
    members: list[JoinGroupResponseMember],
    leader: str | None = None,
    skip: bool = False,
) -> JoinGroupResponse:
    """Return the response that tells a member its generation.

    :param members: the members that the leader assigns partitions to; empty for the other members.
    :param leader: the leader's id in the response, if not the current leader's.
    :param skip: the leader must not assign (KIP-814).
    """
    return JoinGroupResponse(
        generation_id=membership.generation,
        protocol_type=membership.protocol_type,
        protocol_name=membership.protocol_name,
        leader=leader or membership.roster.leader or "",
        skip_assignment=skip,
        member_id=member.member_id,
        members=members,
    )


def members_for_leader(membership: Membership) -> list[JoinGroupResponseMember]:
    """Return all members with their metadata, for the leader's response."""
    name = membership.protocol_name
    return [
        JoinGroupResponseMember(m.member_id, m.group_instance_id, m.metadata(name))
        for m in membership.members.values()
    ]


def sync_response(membership: Membership, member: Member) -> SyncGroupResponse:
    """Return the response with a member's assignment."""
    return SyncGroupResponse(
        protocol_type=membership.protocol_type,
        protocol_name=membership.protocol_name,
        assignment=member.assignment,
    )
