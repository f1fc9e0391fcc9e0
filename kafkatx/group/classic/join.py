"""JoinGroup to a classic group: which members may join, and whether the group rebalances for them. Pure.

*   A member must have the protocol type of the group, and offer a protocol that all members offer.
*   From version 4 on a dynamic member without a member id is given one, and joins with it (KIP-394): a client
    that stops waiting and comes back is then not counted twice.
*   A static member without a member id takes the place of the member with its instance id (KIP-345). In a
    STABLE group whose selected protocol stays the same this causes no rebalance, whatever else has changed.
    If it is the leader it must not assign again: from version 9 on the response says so (KIP-814), in earlier
    versions the response names the leader's former member id.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Client
from kafkatx.group.classic.member import Member, protocols_of, rebalance_timeout_of
from kafkatx.group.classic.membership import Membership, join_response, members_for_leader
from kafkatx.group.classic.outbox import Outbox
from kafkatx.group.classic.rebalance import Rebalance
from kafkatx.group.classic.states import State
from kafkatx.group.classic.sync import response_error
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000
"""Session of a member that was never answered (``NewMemberJoinTimeoutMs`` of GroupCoordinator.scala)."""


class JoinRequests:
    """Serves JoinGroup: admits members and starts rebalances."""

    def __init__(
        self,
        membership: Membership,
        rebalance: Rebalance,
        outbox: Outbox,
        settings: GroupSettings,
        new_member_id: Callable[[str], str],
    ) -> None:
        self._membership = membership
        self._rebalance = rebalance
        self._outbox = outbox
        self._settings = settings
        self._new_member_id = new_member_id

    def serve(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> None:
        """Answer at once, or at the end of the join phase."""
        settings = self._settings
        least_ms, most_ms = settings.min_session_timeout_ms, settings.max_session_timeout_ms
        if self._membership.state is State.DEAD:
            self._refuse(token, ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id)
        elif not least_ms <= request.session_timeout_ms <= most_ms:
            self._refuse(token, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        elif not self._has_room(request):
            self._refuse_full(request, token, now_ms)
        elif not self._has_common_protocol(request):
            self._refuse(token, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        elif request.member_id:
            self._join_known(request, client, token, now_ms)
        elif request.group_instance_id is not None:
            self._join_static(request, version, client, token, now_ms)
        elif version >= MEMBER_ID_REQUIRED_SINCE:
            self._give_member_id(request, client, token, now_ms)
        else:
            self._join_new(self._new_member_id(client.client_id), request, client, token, now_ms)

    # Admission

    def _has_common_protocol(self, request: JoinGroupRequest) -> bool:
        """Return True if the request offers a protocol that all members offer; the first may offer any."""
        if not self._membership.members:
            return bool(request.protocol_type and request.protocols)
        return request.protocol_type == self._membership.protocol_type and any(
            self._membership.roster.offered_by_all(p.name) for p in request.protocols
        )

    def _has_room(self, request: JoinGroupRequest) -> bool:
        """Return True if the group is within ``group.max.size`` with this member (``acceptJoiningMember``).

        In the join phase only members that have joined count: if the group is too large because the setting
        was changed, the last ones to join again are refused. A member that replaces another always fits.
        """
        roster, most = self._membership.roster, self._settings.max_size
        if len(roster.members) < most:
            return True
        known = roster.members.get(request.member_id) or roster.instance(request.group_instance_id)
        if self._membership.state is State.PREPARING_REBALANCE:
            return (known is not None and known.join_token is not None) or roster.joined < most
        return known is not None

    def _refuse_full(self, request: JoinGroupRequest, token: object, now_ms: int) -> None:
        """Refuse a member because the group is full, and remove it if it was a member."""
        membership = self._membership
        self._refuse(token, ErrorCode.GROUP_MAX_SIZE_REACHED, "")
        membership.roster.forget(request.member_id)
        member = membership.members.get(request.member_id)
        if member is not None:
            membership.remove(member, "the group is larger than group.max.size", warn=True)
        self._rebalance.members_left(0, "", now_ms)

    def _refuse(self, token: object, error: ErrorCode, member_id: str) -> None:
        self._outbox.answer(token, JoinGroupResponse(error_code=error, member_id=member_id))

    def _give_member_id(self, request: JoinGroupRequest, client: Client, token: object, now_ms: int) -> None:
        """Answer with a new member id, which is valid for one session time-out."""
        member_id = self._new_member_id(client.client_id)
        end_ms = now_ms + request.session_timeout_ms
        self._membership.roster.expect(member_id, end_ms)
        self._membership.check_sessions_by(end_ms)
        self._refuse(token, ErrorCode.MEMBER_ID_REQUIRED, member_id)

    # Joining

    def _join_new(
        self, member_id: str, request: JoinGroupRequest, client: Client, token: object, now_ms: int
    ) -> None:
        """Add a new member. Its session begins when it is told its generation."""
        membership = self._membership
        member = _member(member_id, request, client, token)
        member.is_new = True
        self._rebalance.newcomer()
        if not membership.members:
            membership.protocol_type = request.protocol_type
        membership.roster.add(member)
        membership.touch(member, now_ms, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance.member_joined(_reason(f"{member_id} joined", request), now_ms)

    def _join_known(self, request: JoinGroupRequest, client: Client, token: object, now_ms: int) -> None:
        """Serve a member that has a member id: it joins for the first time, or again."""
        membership = self._membership
        if request.member_id in membership.roster.pending and request.group_instance_id is None:
            self._join_new(request.member_id, request, client, token, now_ms)
            return
        error = membership.check_member(request.member_id, request.group_instance_id)
        if error:
            self._refuse(token, error, request.member_id)
        else:
            self._join_again(membership.members[request.member_id], request, token, now_ms)

    def _join_again(self, member: Member, request: JoinGroupRequest, token: object, now_ms: int) -> None:
        """Serve a member that joins again.

        If nothing has changed it may have missed a response, and gets that of the current generation. The
        leader of a STABLE group joins again to assign anew: it knows what has changed, topics for example.
        """
        membership = self._membership
        leads = member.member_id == membership.roster.leader
        changed = member.protocols != protocols_of(request)
        assigns_anew = leads and membership.state is State.STABLE
        if membership.state is State.PREPARING_REBALANCE or changed or assigns_anew:
            membership.roster.offer(member, protocols_of(request))
            member.session_timeout_ms = request.session_timeout_ms
            member.rebalance_timeout_ms = _rebalance_timeout(request)
            self._wait_for_generation(member, token)
            self._rebalance.member_joined(_reason(f"{member.member_id} joined again", request), now_ms)
        else:
            members = members_for_leader(membership) if leads else []
            self._outbox.answer(token, join_response(membership, member, members))

    def _wait_for_generation(self, member: Member, token: object) -> None:
        """Keep the request's token; an earlier request of the same member is answered first."""
        again = JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id)
        self._membership.end_join(member, again)
        member.join_token = token

    def _join_static(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> None:
        """Serve a static member without a member id: a new one, or one that comes back."""
        membership = self._membership
        member_id = self._new_member_id(request.group_instance_id or "")
        old = membership.roster.instance(request.group_instance_id)
        if old is None:
            self._join_new(member_id, request, client, token, now_ms)
            return
        new = _member(member_id, request, client, token)
        new.assignment = old.assignment
        former_leader = membership.roster.leader
        membership.end_waiting(old, ErrorCode.FENCED_INSTANCE_ID)
        self._replace(old, new)
        stable = membership.state is State.STABLE
        if stable and membership.roster.select_protocol() == membership.protocol_name:
            self._store_replacement(old, new, version, former_leader)
        else:
            reason = _reason(f"{new.member_id} came in place of {old.member_id}", request)
            self._rebalance.member_joined(reason, now_ms)

    def _replace(self, old: Member, new: Member) -> None:
        """Put *new* in the place of *old*."""
        self._membership.roster.replace(old, new)
        self._rebalance.member_replaced(old.member_id, new.member_id)
        self._membership.read_subscriptions()

    def _store_replacement(self, old: Member, new: Member, version: int, former_leader: str | None) -> None:
        """Store the new member id, then answer the member. If storing fails, *old* is put back."""
        membership = self._membership

        def then(error: ErrorCode, now_ms: int) -> None:
            if membership.state is not State.STABLE or new.join_token is None:
                return  # a rebalance has begun since, which answers; or the member was removed
            if error:
                self._replace(new, old)
                membership.touch(old, now_ms)
                membership.end_join(new, JoinGroupResponse(error_code=response_error(error)))
                return
            leads = new.member_id == membership.roster.leader
            if version >= SKIP_ASSIGNMENT_SINCE:
                members = members_for_leader(membership) if leads else []
                response = join_response(membership, new, members, skip=leads)
            else:
                response = join_response(membership, new, [], leader=former_leader)
            membership.end_join(new, response)
            membership.touch(new, now_ms)

        self._outbox.store(membership.record(), then)


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


def _reason(event: str, request: JoinGroupRequest) -> str:
    """Return the reason of a rebalance, with the reason that the client gave (KIP-800)."""
    return f"{event}: {request.reason}" if request.reason else event
