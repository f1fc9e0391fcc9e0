"""The requests of classic members to a group of KIP-848, and the way back to a classic group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Action, Client, LogLine
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer.classic import members
from kafkatx.group.consumer.classic.conversion import may_go_down, to_classic
from kafkatx.group.consumer.request_queue import Asked, Failed, Serving, Then
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

NULL_NAME_SINCE = 7
"""From this version of JoinGroup on a response without a protocol has null for its name (KIP-559)."""


class ClassicServing(Serving):
    """A group that serves members of the classic protocol, too."""

    def join(
        self, request: JoinGroupRequest, version: int, client: Client, token: object, now_ms: int
    ) -> list[Action]:
        """A JoinGroupRequest."""

        def refuse(code: ErrorCode, _: str) -> JoinGroupResponse:
            name = None if version >= NULL_NAME_SINCE else ""
            return JoinGroupResponse(error_code=code, protocol_name=name, member_id=request.member_id)

        work = partial(self._join, request, version, client)
        return self._ask(token, refuse, work, now_ms)

    def _join(
        self, request: JoinGroupRequest, version: int, client: Client, asked: Asked, now_ms: int
    ) -> list[Action]:
        rebalance = self._rebalance
        if not rebalance.state.members:
            return self._begin_anew(request, version, client, asked)
        member_id = request.member_id or self._new_member_id(client.client_id)
        rebalance.check_room(member_id)
        members.check_request(rebalance, request)
        if members.needs_id(request, version):
            told = JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
            return asked.answer(told)
        replaces_other_kind = self._replaces_other_kind(request)
        response = members.join(rebalance, request, member_id, client, now_ms)
        if replaces_other_kind and may_go_down(rebalance, ()):
            # it has taken the place of the last member of the new protocol, and joins the classic group then
            return self._go_down(
                (),
                lambda at_ms, classic: classic.join(request, version, client, asked.token, at_ms),
                asked.refused,
                now_ms,
            )
        return self._write(lambda _: asked.answer(response), asked.refused)

    def _replaces_other_kind(self, request: JoinGroupRequest) -> bool:
        """Whether the request is to replace a static member that does not speak the classic protocol."""
        state = self._rebalance.state
        former = state.members.get(state.static.get(request.group_instance_id or "", ""))
        return former is not None and former.classic is None

    def _begin_anew(
        self, request: JoinGroupRequest, version: int, client: Client, asked: Asked
    ) -> list[Action]:
        """An empty group changes its protocol with whoever comes first, whatever the settings say."""
        if request.member_id:
            return asked.refused(ErrorCode.UNKNOWN_MEMBER_ID)
        settings = self._rebalance.settings
        classic = ClassicGroup(self.group_id, settings, self._new_member_id, self._wall_ms)
        return self._store(
            self._encoded(self._rebalance.state.tombstones()),
            lambda at_ms: [
                self._replace(classic),
                *classic.join(request, version, client, asked.token, at_ms),
            ],
            asked.refused,
        )

    def sync(self, request: SyncGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """A SyncGroupRequest."""

        def work(asked: Asked, at_ms: int) -> list[Action]:
            response = members.sync(self._rebalance, request, version, at_ms)
            return self._write(lambda _: asked.answer(response), asked.refused)

        return self._ask(token, lambda code, _: SyncGroupResponse(error_code=code), work, now_ms)

    def heartbeat(self, request: HeartbeatRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """A HeartbeatRequest."""

        def work(asked: Asked, at_ms: int) -> list[Action]:
            code = members.heartbeat(self._rebalance, request, at_ms)
            return self._write(lambda _: asked.answer(HeartbeatResponse(error_code=code)), asked.refused)

        return self._ask(token, lambda code, _: HeartbeatResponse(error_code=code), work, now_ms)

    def leave(self, request: LeaveGroupRequest, version: int, token: object, now_ms: int) -> list[Action]:
        """A LeaveGroupRequest: of many members some may leave though others may not."""
        work = partial(self._leave, request, version)
        return self._ask(token, lambda code, _: LeaveGroupResponse(error_code=code), work, now_ms)

    def _leave(self, request: LeaveGroupRequest, version: int, asked: Asked, now_ms: int) -> list[Action]:
        found = members.who_leaves(self._rebalance, request, version)
        response = LeaveGroupResponse(members=[result for result, _ in found])
        if version < members.MANY_LEAVE_SINCE:
            response = LeaveGroupResponse(error_code=found[0][0].error_code)
        gone = {member_id: reason for result, (member_id, reason) in found if not result.error_code}
        if not gone:
            return asked.answer(response)
        return self._remove(gone, lambda _: asked.answer(response), asked.refused, now_ms)

    # --- the way back

    def _remove(
        self, why: Mapping[str, str], then: Then, failed: Failed, now_ms: int, warn: bool = False
    ) -> list[Action]:
        """Remove members; if only classic ones are left, they are a classic group from then on.

        :param why: for each member what the log is to say.
        """
        text = "member {member} of group {group} was removed: {reason}"
        lines = [LogLine(text, {"member": one, "reason": reason}, warn) for one, reason in why.items()]
        if may_go_down(self._rebalance, why):
            return self._go_down(why, lambda at_ms, _: [*lines, *then(at_ms)], failed, now_ms)
        self._rebalance.fence(why)
        return self._write(lambda at_ms: [*lines, *then(at_ms)], failed)

    def _go_down(
        self,
        leaving: Iterable[str],
        then: Callable[[int, ClassicGroup], list[Action]],
        failed: Failed,
        now_ms: int,
    ) -> list[Action]:
        """Give those who stay a classic group; *then* is called with it."""
        rebalance = self._rebalance
        classic = to_classic(rebalance, self._new_member_id, self._wall_ms, set(leaving), now_ms)
        self._take_back()  # what is written is the end of this group, as it stands in the log
        tell = LogLine("group {group} goes on with the classic protocol", {})
        return self._store(
            [*self._encoded(rebalance.state.tombstones()), classic.record()],
            lambda at_ms: [self._replace(classic), tell, *then(at_ms, classic)],
            failed,
        )
