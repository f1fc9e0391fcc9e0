"""The ground of a classic group: its members and their sessions, what is to be done, and its record.

Nothing here knows how a group rebalances: that is built on it, floor by floor, in
:mod:`~kafkatx.group.classic.rebalance` < :mod:`~kafkatx.group.classic.sync` <
:mod:`~kafkatx.group.classic.join` < :mod:`~kafkatx.group.classic.group`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import NEVER_MS, Action, Answer, LogLine, Record, Store
from kafkatx.group.classic import records
from kafkatx.group.classic.member import Member
from kafkatx.group.classic.roster import Roster
from kafkatx.group.classic.states import Event, State, next_state
from kafkatx.group.classic.subscription import topics_of
from kafkatx.group.protocol import PROTOCOL_TYPE
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.join_group import JoinGroupResponse
from kafkatx.wire.messages.sync_group import SyncGroupResponse


class Membership:
    """A group and who is in it.

    What is to be done is gathered by :meth:`_answer`, :meth:`_store` and :meth:`_tell`; whoever was called
    from outside hands it out with :meth:`_done`.

    :ivar generation: counts the rebalances; it never goes back.
    :ivar protocol_type: what its members are, ``consumer`` for example; empty if it never had one.
    :ivar protocol_name: what this generation's members chose, or None.
    :ivar state_since_ms: when the state last changed, on the wall clock; -1: never, or nobody knows.
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

        :param new_member_id: gives a new member id that begins with its argument.
        :param wall_ms: the wall clock, for times that are stored.
        """
        self.group_id = group_id
        self._settings = settings
        self._new_member_id = new_member_id
        self._wall_ms = wall_ms
        self._roster = Roster()
        self._state = State.EMPTY
        self.state_since_ms = -1
        self.generation = 0
        self.protocol_type = ""
        self.protocol_name: str | None = None
        self._subscribed: frozenset[str] | None = frozenset()
        self._assigned_bytes = 0  # since the last assignment; who has left since still counts
        self._sessions_ms = NEVER_MS
        self._actions: list[Action] = []
        self._storing: deque[Callable[[ErrorCode, int], None]] = deque()

    @property
    def state(self) -> str:
        """As DescribeGroups and ListGroups call it."""
        return self._state.value

    @property
    def members(self) -> Mapping[str, Member]:
        """The members by member id."""
        return MappingProxyType(self._roster.members)

    @property
    def has_members(self) -> bool:
        """Whether there are members."""
        return bool(self._roster.members)

    @property
    def held_bytes(self) -> int:
        """About how much memory the members take."""
        return self._roster.held_bytes + self._assigned_bytes

    def bytes_of(self, member_id: str, group_instance_id: str | None) -> int:
        """How much of that is a member's, without its assignment."""
        known = self._roster.members.get(member_id) or self._roster.instance(group_instance_id)
        return 0 if known is None else known.held_bytes

    @property
    def leader(self) -> str | None:
        """The member id of the leader; None if there are no members."""
        return self._roster.leader

    def _move(self, event: Event) -> None:
        self._state = next_state(self._state, event)
        self.state_since_ms = self._wall_ms()

    # What is to be done

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """The oldest :class:`Store` that was not told of yet is done."""
        self._storing.popleft()(error, now_ms)
        return self._done()

    def _answer(self, token: object, response: Any) -> None:
        self._actions.append(Answer(token, response))

    def _store(self, record: Record, then: Callable[[ErrorCode, int], None]) -> None:
        self._actions.append(Store([record]))
        self._storing.append(then)

    def _tell(self, text: str, warn: bool = False, **values: object) -> None:
        self._actions.append(LogLine(text, values, warn))

    def _done(self) -> list[Action]:
        actions, self._actions = self._actions, []
        return actions

    # Who is a member

    def _check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Whether this is a member. If another has come in its place it is fenced (KIP-345)."""
        if self._state is State.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if group_instance_id is not None:
            known = self._roster.instance(group_instance_id)
            if known is not None and known.member_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self._roster.members else ErrorCode.UNKNOWN_MEMBER_ID

    def _check_generation(self, member_id: str, group_instance_id: str | None, generation: int) -> ErrorCode:
        """Whether this is a member of this generation."""
        error = self._check_member(member_id, group_instance_id)
        if not error and generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    def _touch(self, member: Member, now_ms: int, timeout_ms: int | None = None) -> None:
        """A sign of life: the session begins anew."""
        member.deadline_ms = now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
        self._look_by(member.deadline_ms)

    def _look_by(self, deadline_ms: int) -> None:
        """Look at all sessions then at the latest.

        A sign of life moves the end of a session away, but not this: else each heartbeat would have to
        look at all members.
        """
        if deadline_ms < self._sessions_ms:
            self._sessions_ms = deadline_ms

    def _remove(self, member: Member, reason: str, warn: bool = False) -> None:
        """Take a member out. What of it waits is answered so that the client, if it lives, joins anew."""
        self._end_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID)
        self._roster.remove(member)
        text = "member {member} of group {group} was removed: {reason}"
        self._tell(text, warn, member=member.member_id, reason=reason)

    def _end_waiting(self, member: Member, error: ErrorCode) -> None:
        """Answer with an error whatever of this member waits."""
        member_id = "" if error is ErrorCode.UNKNOWN_MEMBER_ID else member.member_id
        self._end_join(member, JoinGroupResponse(error_code=error, member_id=member_id))
        self._end_sync(member, SyncGroupResponse(error_code=error))

    def _end_join(self, member: Member, response: JoinGroupResponse) -> None:
        if member.join_token is not None:
            self._answer(member.join_token, response)
            member.join_token = None

    def _end_sync(self, member: Member, response: SyncGroupResponse) -> bool:
        if member.sync_token is None:
            return False
        self._answer(member.sync_token, response)
        member.sync_token = None
        return True

    def _subscribed_topics(self) -> frozenset[str] | None:
        """The topics that a consumer group reads; None if nobody can tell."""
        if self.protocol_type != PROTOCOL_TYPE:
            return None
        return topics_of(m.metadata(self.protocol_name) for m in self._roster.members.values())

    # The record

    def record(self, assignments: Mapping[str, bytes] | None = None) -> Record:
        """The group as ``__consumer_offsets`` holds it.

        :param assignments: what members are about to be assigned, else what they have.
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
            for m in self._roster.members.values()
        ]
        value = records.GroupMetadataValue(
            self.protocol_type, self.generation, self.protocol_name, self.leader, self.state_since_ms, members
        )
        return Record(records.encode_key(self.group_id), records.encode_value(value))
