"""LeaveGroup (key 13), versions 0-5: one member, from version 3 on many (KIP-345)."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

MANY_SINCE = 3


def answer(
    broker: Broker, request: LeaveGroupRequest, context: RequestContext
) -> LeaveGroupResponse | Deferred[LeaveGroupResponse]:
    """Remove members from their group."""
    groups = broker.groups
    error = groups.check(request.group_id)
    if error:
        return LeaveGroupResponse(0, error)
    group = groups.find(request.group_id)
    if group is None:
        return _unknown(request, context.version)
    return groups.ask(group, lambda token, now_ms: group.leave(request, context.version, token, now_ms))


def _unknown(request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
    """Return the response for an unknown group, whose members are unknown, too."""
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    if version < MANY_SINCE:
        return LeaveGroupResponse(0, unknown)
    members = [MemberResponse(m.member_id, m.group_instance_id, unknown) for m in request.members]
    return LeaveGroupResponse(0, ErrorCode.NONE, members)


def refuse(
    request: LeaveGroupRequest, context: RequestContext, code: ErrorCode, message: str
) -> LeaveGroupResponse:
    """Refuse all members with one error."""
    return LeaveGroupResponse(0, code)


API = Api(LeaveGroupRequest, LeaveGroupResponse, answer, refuse)
