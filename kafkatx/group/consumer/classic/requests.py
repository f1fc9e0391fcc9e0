"""The requests of classic members to a group of the consumer protocol. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Action, Client
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer.classic import members
from kafkatx.group.consumer.classic.conversion import can_downgrade
from kafkatx.group.consumer.classic.removal import MemberRemoval
from kafkatx.group.consumer.request_queue import PendingRequest, RequestQueue
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

NULL_NAME_SINCE = 7
"""The first version of JoinGroup whose response has null if there is no protocol name (KIP-559)."""


class ClassicRequests:
    """Serves JoinGroup, SyncGroup, Heartbeat and LeaveGroup of classic members."""

    def __init__(
        self,
        queue: RequestQueue,
        removal: MemberRemoval,
        new_member_id: Callable[[str], str],
        wall_ms: Callable[[], int],
    ) -> None:
        self._queue = queue
        self._removal = removal
        self._new_member_id = new_member_id
        self._wall_ms = wall_ms

    def join(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> list[Action]:
        """Serve a JoinGroup."""

        def refuse(code: ErrorCode, _: str) -> JoinGroupResponse:
            name = None if version >= NULL_NAME_SINCE else ""
            return JoinGroupResponse(error_code=code, protocol_name=name, member_id=request.member_id)

        work = partial(self._join, request, version, client)
        return self._queue.submit(token, refuse, work, now_ms)

    def _join(
        self, request: JoinGroupRequest, version: int, client: Client, pending: PendingRequest, now_ms: int
    ) -> list[Action]:
        rebalance = self._queue.rebalance
        if not rebalance.state.members:
            return self._become_classic(request, version, client, pending)
        member_id = request.member_id or self._new_member_id(client.client_id)
        rebalance.check_room(member_id)
        members.check_request(rebalance, request)
        if members.needs_id(request, version):
            response = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
            return pending.answer(response)
        replaces_consumer = self._replaces_consumer(request)
        response = members.join(rebalance, request, member_id, client, now_ms)
        if replaces_consumer and can_downgrade(rebalance, ()):
            # it replaces the last member of the consumer protocol, so it joins the classic group
            return self._removal.downgrade(
                (),
                lambda at_ms, classic: classic.join(request, version, client, pending.token, at_ms),
                pending.refused,
                now_ms,
            )
        return self._queue.write(lambda _: pending.answer(response), pending.refused)

    def _replaces_consumer(self, request: JoinGroupRequest) -> bool:
        """Return True if the request replaces a static member of the consumer protocol."""
        state = self._queue.rebalance.state
        former = state.members.get(state.static.get(request.group_instance_id or "", ""))
        return former is not None and former.classic is None

    def _become_classic(
        self, request: JoinGroupRequest, version: int, client: Client, pending: PendingRequest
    ) -> list[Action]:
        """Replace an empty group by a classic one; no setting forbids that."""
        if request.member_id:
            return pending.refused(ErrorCode.UNKNOWN_MEMBER_ID)
        queue = self._queue
        rebalance = queue.rebalance
        classic = ClassicGroup(rebalance.group_id, rebalance.settings, self._new_member_id, self._wall_ms)
        return queue.store(
            queue.encoded(rebalance.state.tombstones()),
            lambda at_ms: [
                queue.replace(classic),
                *classic.join(request, version, client, pending.token, at_ms),
            ],
            pending.refused,
        )

    def sync(self, request: SyncGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a SyncGroup."""

        def work(pending: PendingRequest, at_ms: int) -> list[Action]:
            response = members.sync(self._queue.rebalance, request, version, at_ms)
            return self._queue.write(lambda _: pending.answer(response), pending.refused)

        return self._queue.submit(token, lambda code, _: SyncGroupResponse(error_code=code), work, now_ms)

    def heartbeat(self, request: HeartbeatRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a Heartbeat."""

        def work(pending: PendingRequest, at_ms: int) -> list[Action]:
            code = members.heartbeat(self._queue.rebalance, request, at_ms)
            response = HeartbeatResponse(error_code=code)
            return self._queue.write(lambda _: pending.answer(response), pending.refused)

        return self._queue.submit(token, lambda code, _: HeartbeatResponse(error_code=code), work, now_ms)

    def leave(self, request: LeaveGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """Serve a LeaveGroup; some of its members may leave even if others may not."""
        work = partial(self._leave, request, version)
        return self._queue.submit(token, lambda code, _: LeaveGroupResponse(error_code=code), work, now_ms)

    def _leave(
        self, request: LeaveGroupRequest, version: int, pending: PendingRequest, now_ms: int
    ) -> list[Action]:
        found = members.leaving_members(self._queue.rebalance, request, version)
        response = LeaveGroupResponse(members=[result for result, _ in found])
        if version < members.MANY_LEAVE_SINCE:
            response = LeaveGroupResponse(error_code=found[0][0].error_code)
        reasons = {member_id: reason for result, (member_id, reason) in found if not result.error_code}
        if not reasons:
            return pending.answer(response)
        return self._removal.remove(reasons, lambda _: pending.answer(response), pending.refused, now_ms)
