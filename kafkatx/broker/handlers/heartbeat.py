"""Heartbeat (key 12), versions 0-4."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def answer(
    broker: Broker, request: HeartbeatRequest, context: RequestContext
) -> HeartbeatResponse | Deferred[HeartbeatResponse]:
    """Refresh a member's session; while the group is being loaded the answer is NONE.

    Apache Kafka does the same (GroupCoordinator.handleHeartbeat): old clients do not expect error 14 here.
    """
    groups = broker.groups
    error = groups.check(request.group_id)
    if error:
        return HeartbeatResponse(0, ErrorCode.NONE if error == LOADING else error)
    group = groups.find(request.group_id)
    if group is None:
        return HeartbeatResponse(0, ErrorCode.UNKNOWN_MEMBER_ID)
    return groups.ask(group, lambda token, now_ms: group.heartbeat(request, context.version, token, now_ms))


def refuse(
    request: HeartbeatRequest, context: RequestContext, code: ErrorCode, message: str
) -> HeartbeatResponse:
    """Refuse the request with an error."""
    return HeartbeatResponse(0, code)


API = Api(HeartbeatRequest, HeartbeatResponse, answer, refuse)
