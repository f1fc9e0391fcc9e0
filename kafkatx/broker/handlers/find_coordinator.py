"""FindCoordinator (key 10), versions 0-4: the broker that coordinates a group.

Version 0 is 0.8's ConsumerMetadata.

Any broker answers, by the cluster's state: the coordinator is the leader of the group's partition of
``__consumer_offsets``.

Deviations from Apache Kafka: the first request of all waits until ``__consumer_offsets`` is created, where
Apache Kafka answers COORDINATOR_NOT_AVAILABLE and lets the client ask again. The coordinator of a transaction
is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED and a message, for there are no transactions
(:mod:`kafkatx.broker.transactions`). On COORDINATOR_NOT_AVAILABLE a client would ask again until its time is
up, and not know why.
"""

from __future__ import annotations

from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP, TRANSACTION = 0, 1
MANY_SINCE = 4
NO_NODE = BrokerNode(-1, "", -1)


def answer(
    broker: Broker, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse | Deferred[FindCoordinatorResponse]:
    """Return the coordinators, once ``__consumer_offsets`` exists."""
    if request.key_type == TRANSACTION:
        name = request.key if context.version < MANY_SINCE else ", ".join(request.coordinator_keys[:1])
        raise broker.transactions.refusal(context.peer, context.client_id, name)
    if request.key_type != GROUP:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"there is no coordinator of type {request.key_type}")
    if broker.groups.topic.exists:
        return _found(broker, request, context.version)
    return Deferred.fromCoroutine(_find_when_ready(broker, request, context.version))


async def _find_when_ready(
    broker: Broker, request: FindCoordinatorRequest, version: int
) -> FindCoordinatorResponse:
    await broker.groups.topic.ensure()
    found = _found(broker, request, version)
    return await found if isinstance(found, Deferred) else found


def _found(
    broker: Broker, request: FindCoordinatorRequest, version: int
) -> FindCoordinatorResponse | Deferred[FindCoordinatorResponse]:
    if version >= MANY_SINCE:
        many = broker.slices.each(request.coordinator_keys, partial(_find, broker))
        if isinstance(many, Deferred):
            return many.addCallback(_respond_many)
        return _respond_many(many)
    found = _find(broker, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _respond_many(coordinators: list[Coordinator]) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(coordinators=coordinators)


def _find(broker: Broker, group_id: str) -> Coordinator:
    """Return the leader of the group's partition."""
    try:
        node = broker.groups.topic.leader_of(group_id)
    except RequestError as error:
        return _failed(group_id, error.code, error_message(error))
    return Coordinator(group_id, node.id, node.host, node.port, 0, None)


def _failed(group_id: str, code: ErrorCode, why: str) -> Coordinator:
    return Coordinator(group_id, NO_NODE.id, NO_NODE.host, NO_NODE.port, code, why)


def refuse(
    request: FindCoordinatorRequest, context: RequestContext, code: ErrorCode, why: str
) -> FindCoordinatorResponse:
    """Refuse every key with the same error."""
    if context.version >= MANY_SINCE:
        return FindCoordinatorResponse(coordinators=[_failed(k, code, why) for k in request.coordinator_keys])
    return FindCoordinatorResponse(
        error_code=code, error_message=why, node_id=NO_NODE.id, host=NO_NODE.host, port=NO_NODE.port
    )


API = Api(FindCoordinatorRequest, FindCoordinatorResponse, answer, refuse)
