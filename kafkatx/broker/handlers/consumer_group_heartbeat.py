"""ConsumerGroupHeartbeat (key 68), versions 0-1: members of KIP-848 join, stay and leave.

Deviations from Apache Kafka: a regular expression is resolved before the reply, not after it, and again with
the first heartbeat after a change of ACLs, not within ten minutes; the RE2 syntax that cannot matter for
topic names is missing (``kafkatx.group.consumer.subscription.expression``).
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.config.table import groups as settings
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Action, Client, Group
from kafkatx.group.classic.group import ClassicGroup
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.consumer.heartbeat import check_request, is_leaving
from kafkatx.group.consumer.member import JOINING_EPOCH
from kafkatx.group.sizes import MEMBER_BYTES, text_bytes
from kafkatx.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

PROTOCOL = "consumer"


def answer(
    broker: Broker, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse | Deferred[ConsumerGroupHeartbeatResponse]:
    """Serve a member; the first group of all waits until ``__consumer_offsets`` has been created."""
    if PROTOCOL not in broker.config[settings.GROUP_COORDINATOR_REBALANCE_PROTOCOLS]:
        raise RequestError(ErrorCode.UNSUPPORTED_VERSION)
    if broker.groups.topic.exists:
        return broker.groups.work_queue.run(lambda: _serve(broker, request, context))
    return Deferred.fromCoroutine(_serve_when_ready(broker, request, context))


async def _serve_when_ready(
    broker: Broker, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse:
    await broker.groups.topic.ensure()
    serving = _serve(broker, request, context)
    return await serving if isinstance(serving, Deferred) else serving


def _serve(
    broker: Broker, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse | Deferred[ConsumerGroupHeartbeatResponse]:
    groups, version = broker.groups, context.version
    check_request(request, version, groups.settings)
    error = groups.check(request.group_id)
    if error:
        raise RequestError(error)
    rights = broker.authorization
    may_describe = None if rights is None else rights.describer(context.peer)
    client = Client(context.client_id or "", f"/{context.peer.host}", may_describe)
    group = groups.find(request.group_id)
    _check_memory(broker, group, request, context)
    if isinstance(group, ConsumerGroup):
        known = group
        return groups.ask(
            known, lambda token, now_ms: known.consumer_heartbeat(request, version, client, token, now_ms)
        )
    if request.member_epoch != JOINING_EPOCH:
        what = "Consumer group {} not found." if group is None else "Group {} is not a consumer group."
        raise RequestError(ErrorCode.GROUP_ID_NOT_FOUND, what.format(request.group_id))
    return _join_new(broker, group, request, version, client)


def _check_memory(
    broker: Broker, group: Group | None, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> None:
    """Check that there is memory for a member's subscription, if the request has one.

    :raises RequestError: GROUP_MAX_SIZE_REACHED.
    """
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    if is_leaving(request) or (request.member_epoch != JOINING_EPOCH and names is None and regex is None):
        return
    size = MEMBER_BYTES + text_bytes(
        request.member_id, request.instance_id, request.rack_id, context.client_id, regex, *names or ()
    )
    groups = broker.groups
    why = groups.memory.refusal(
        groups.settings, request.group_id, group, size, request.member_id, request.instance_id
    )
    if why is not None:
        raise RequestError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"{why}.")


def _join_new(
    broker: Broker,
    former: Group | None,
    request: ConsumerGroupHeartbeatRequest,
    version: int,
    client: Client,
) -> ConsumerGroupHeartbeatResponse | Deferred[ConsumerGroupHeartbeatResponse]:
    """Add a member to a new group, or to one that changes from the classic protocol."""
    group = broker.groups.new_consumer(request.group_id)
    if not isinstance(former, ClassicGroup):
        broker.groups.add(group)

    def call(token: object, now_ms: int) -> list[Action]:
        if isinstance(former, ClassicGroup):
            return group.take_over(former, request, version, client, token, now_ms)
        return group.consumer_heartbeat(request, version, client, token, now_ms)

    return broker.groups.ask(group, call)


def refuse(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext, code: ErrorCode, message: str
) -> ConsumerGroupHeartbeatResponse:
    """Refuse the request with an error and a message."""
    return ConsumerGroupHeartbeatResponse(0, code, message)


API = Api(ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, answer, refuse)
