"""JoinGroup to a classic group: who may join, as what, and whether the group rebalances for it.

*   Nobody may join a group whose members speak of something else: the protocol type must be theirs, and one
    of the protocols must be offered by all of them.
*   From version 4 on a dynamic member without an id is given one, and joins with it (KIP-394): one that gives
    up waiting and comes back is then no second member.
*   A static member without an id takes the place of the member with its instance id (KIP-345). In a STABLE
    group whose choice of protocol stays the same that is no rebalance, whatever else has changed. If it
    leads, it must not assign anew: from version 9 on it is told so (KIP-814), before that its old id is said
    to lead.
"""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Action, Client
from kafkatx.group.classic.member import Member, protocols_of, rebalance_timeout_of
from kafkatx.group.classic.states import State
from kafkatx.group.classic.sync import Syncing, answer_for
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000
"""A member that was never answered is kept so long (``NewMemberJoinTimeoutMs`` of GroupCoordinator.scala)."""


class Joining(Syncing):
    """A group that members join."""

    def join(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> list[Action]:
        """Let a member join, at once or when the join phase ends."""
        settings = self._settings
        least_ms, most_ms = settings.min_session_timeout_ms, settings.max_session_timeout_ms
        if self._state is State.DEAD:
            self._refuse(token, ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id)
        elif not least_ms <= request.session_timeout_ms <= most_ms:
            self._refuse(token, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        elif not self._has_room(request):
            self._turn_away(request, token, now_ms)
        elif not self._speaks_alike(request):
            self._refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        elif request.member_id:
            self._join_known(request, client, token, now_ms)
        elif request.group_instance_id is not None:
            self._join_static(request, version, client, token, now_ms)
        elif version >= MEMBER_ID_REQUIRED_SINCE:
            self._give_id(request, client, token, now_ms)
        else:
            self._join_new(self._new_member_id(client.client_id), request, client, token, now_ms)
        return self._done()

    def _speaks_alike(self, request: JoinGroupRequest) -> bool:
        """Whether the members and this one have a protocol in common; the first may speak anything."""
        if not self.has_members:
            return bool(request.protocol_type and request.protocols)
        return request.protocol_type == self.protocol_type and any(
            self._roster.offered_by_all(p.name) for p in request.protocols
        )

    def _has_room(self, request: JoinGroupRequest) -> bool:
        """Whether the group, with this one, is within ``group.max.size`` (acceptJoiningMember).

        In the join phase those count who have joined: if the group is too big, because the setting was
        changed, the last to join again are turned away. Whoever comes in another's place makes it no bigger.
        """
        roster, most = self._roster, self._settings.max_size
        if len(roster.members) < most:
            return True
        known = roster.members.get(request.member_id) or roster.instance(request.group_instance_id)
        if self._state is State.PREPARING_REBALANCE:
            return (known is not None and known.join_token is not None) or roster.joined < most
        return known is not None

    def _turn_away(self, request: JoinGroupRequest, token: object, now_ms: int) -> None:
        """The group is full: this one has no place in it any more."""
        self._refuse(token, ErrorCode.GROUP_MAX_SIZE_REACHED, "")
        self._roster.forget(request.member_id)
        member = self._roster.members.get(request.member_id)
        if member is not None:
            self._remove(member, "the group is larger than group.max.size", warn=True)
        self._after_leaving(0, "", now_ms)

    def _refuse(self, token: object, error: ErrorCode, member_id: str) -> None:
        self._answer(token, JoinGroupResponse(error_code=error, member_id=member_id))

    def _give_id(self, request: JoinGroupRequest, client: Client, token: object, now_ms: int) -> None:
        """Give a new member the id to join with; it is waited for until its session would end."""
        member_id = self._new_member_id(client.client_id)
        self._roster.expect(member_id, now_ms + request.session_timeout_ms)
        self._look_by(now_ms + request.session_timeout_ms)
        self._refuse(token, ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _join_new(
        self, member_id: str, request: JoinGroupRequest, client: Client, token: object, now_ms: int
    ) -> None:
        """Take a new member in. Its session begins when it is told its generation."""
        member = _member(member_id, request, client, token)
        member.is_new = True
        self._newcomers = True
        if not self.has_members:
            self.protocol_type = request.protocol_type
        self._roster.add(member)
        self._touch(member, now_ms, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._settle_or_rebalance(_because(f"{member_id} joined", request), now_ms)

    def _join_known(self, request: JoinGroupRequest, client: Client, token: object, now_ms: int) -> None:
        """One who has an id: from us, for the first time, or a member that joins again."""
        if request.member_id in self._roster.pending and request.group_instance_id is None:
            self._join_new(request.member_id, request, client, token, now_ms)
            return
        error = self._check_member(request.member_id, request.group_instance_id)
        if error:
            self._refuse(token, error, request.member_id)
        else:
            self._join_again(self._roster.members[request.member_id], request, token, now_ms)

    def _join_again(self, member: Member, request: JoinGroupRequest, token: object, now_ms: int) -> None:
        """A member joins again.

        If nothing has changed it may just have missed an answer, and gets the one of this generation. A
        leader of a STABLE group wants to assign anew: it knows what has changed, topics for example.
        """
        leads = member.member_id == self.leader
        changed = member.protocols != protocols_of(request)
        if self._state is State.PREPARING_REBALANCE or changed or (leads and self._state is State.STABLE):
            self._roster.offer(member, protocols_of(request))
            member.session_timeout_ms = request.session_timeout_ms
            member.rebalance_timeout_ms = _rebalance_timeout(request)
            self._wait_for_generation(member, token)
            self._settle_or_rebalance(_because(f"{member.member_id} joined again", request), now_ms)
        else:
            self._answer(token, self._joined(member, self._metadata_of_all() if leads else []))

    def _wait_for_generation(self, member: Member, token: object) -> None:
        """Remember whom to answer. If the member asks again, its earlier request is answered first."""
        again = JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id)
        self._end_join(member, again)
        member.join_token = token

    def _join_static(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> None:
        """A static member without an id: a new one, or one that comes back."""
        member_id = self._new_member_id(request.group_instance_id or "")
        old = self._roster.instance(request.group_instance_id)
        if old is None:
            self._join_new(member_id, request, client, token, now_ms)
            return
        new = _member(member_id, request, client, token)
        new.assignment = old.assignment
        led_by = self.leader
        self._end_waiting(old, ErrorCode.FENCED_INSTANCE_ID)
        self._put(new, old)
        if self._state is State.STABLE and self._roster.select_protocol() == self.protocol_name:
            self._store_in_place(new, old, version, led_by)
        else:
            reason = _because(f"{new.member_id} came in place of {old.member_id}", request)
            self._settle_or_rebalance(reason, now_ms)

    def _put(self, new: Member, old: Member) -> None:
        """Put one in the place of the other."""
        self._roster.replace(old, new)
        if old.member_id in self._unsynced:
            self._unsynced.remove(old.member_id)
            self._unsynced.add(new.member_id)
        self._subscribed = self._subscribed_topics()

    def _store_in_place(self, new: Member, old: Member, version: int, led_by: str | None) -> None:
        """Have the new member id stored; only then is the member told. If that fails it never was."""

        def then(error: ErrorCode, now_ms: int) -> None:
            if self._state is not State.STABLE or new.join_token is None:
                return  # a rebalance has begun meanwhile, which answers; or it was removed
            if error:
                self._put(old, new)
                self._touch(old, now_ms)
                self._end_join(new, JoinGroupResponse(error_code=answer_for(error)))
                return
            leads = new.member_id == self.leader
            if version >= SKIP_ASSIGNMENT_SINCE:
                self._end_join(new, self._joined(new, self._metadata_of_all() if leads else [], skip=leads))
            else:
                self._end_join(new, self._joined(new, [], leader=led_by))
            self._touch(new, now_ms)

        self._store(self.record(), then)


def _member(member_id: str, request: JoinGroupRequest, client: Client, token: object) -> Member:
    return Member(
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=client.client_id,
        client_host=client.host,
        rebalance_timeout_ms=_rebalance_timeout(request),
        session_timeout_ms=request.session_timeout_ms,
        protocols=protocols_of(request),
        join_token=token,
    )


def _rebalance_timeout(request: JoinGroupRequest) -> int:
    return rebalance_timeout_of(request.rebalance_timeout_ms, request.session_timeout_ms)


def _because(what: str, request: JoinGroupRequest) -> str:
    """The reason of a rebalance, with what the client says of it (KIP-800)."""
    return f"{what}: {request.reason}" if request.reason else what
