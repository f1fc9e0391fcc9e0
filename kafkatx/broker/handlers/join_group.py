"""JoinGroup (key 11), versions 0-9: members wait until the group is complete."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Client
from kafkatx.group.sizes import MEMBER_BYTES, protocols_bytes, text_bytes
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

NAME_NULL_SINCE = 7
"""From this version on a response without a protocol has null for its name (KIP-559)."""


def answer(
    broker: Broker, request: JoinGroupRequest, context: RequestContext
) -> JoinGroupResponse | Deferred[JoinGroupResponse]:
    """Add a member to a group; the first group of all waits until ``__consumer_offsets`` is created."""
    if broker.groups.topic.exists:
        return broker.groups.work_queue.run(lambda: _join(broker, request, context))
    return Deferred.fromCoroutine(_join_when_ready(broker, request, context))


async def _join_when_ready(
    broker: Broker, request: JoinGroupRequest, context: RequestContext
) -> JoinGroupResponse:
    await broker.groups.topic.ensure()
    joining = _join(broker, request, context)
    return await joining if isinstance(joining, Deferred) else joining


def _join(
    broker: Broker, request: JoinGroupRequest, context: RequestContext
) -> JoinGroupResponse | Deferred[JoinGroupResponse]:
    """Check in Apache Kafka's order (GroupCoordinator.handleJoinGroup), then ask the group."""
    groups, settings = broker.groups, broker.groups.settings
    error = groups.check(request.group_id)
    if error:
        return _error(request, context, error)
    least_ms, most_ms = settings.min_session_timeout_ms, settings.max_session_timeout_ms
    if not least_ms <= request.session_timeout_ms <= most_ms:
        return _error(request, context, ErrorCode.INVALID_SESSION_TIMEOUT)
    group = groups.find(request.group_id)
    size = MEMBER_BYTES + text_bytes(request.group_instance_id, request.member_id, context.client_id)
    size += protocols_bytes((protocol.name, protocol.metadata) for protocol in request.protocols)
    if groups.memory.refusal(
        settings, request.group_id, group, size, request.member_id, request.group_instance_id
    ):
        return _error(request, context, ErrorCode.GROUP_MAX_SIZE_REACHED)
    if group is None:
        if request.member_id:  # its group no longer exists
            return _error(request, context, ErrorCode.UNKNOWN_MEMBER_ID)
        group = groups.make(request.group_id)
    client = Client(context.client_id or "", f"/{context.peer.host}")
    return groups.ask(
        group, lambda token, now_ms: group.join(request, context.version, client, token, now_ms)
    )


def _error(request: JoinGroupRequest, context: RequestContext, code: ErrorCode) -> JoinGroupResponse:
    name = None if context.version >= NAME_NULL_SINCE else ""
    return JoinGroupResponse(0, code, -1, None, name, "", False, request.member_id, [])


def refuse(
    request: JoinGroupRequest, context: RequestContext, code: ErrorCode, message: str
) -> JoinGroupResponse:
    """Refuse the request with an error."""
    return _error(request, context, code)


API = Api(JoinGroupRequest, JoinGroupResponse, answer, refuse)
