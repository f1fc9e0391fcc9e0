"""FindCoordinator (key 10), versions 0-6: the broker that coordinates a group, or a transactional id.

Version 0 is 0.8's ConsumerMetadata.

Any broker answers, by the cluster's state: the coordinator is the leader of the partition of
``__consumer_offsets`` or ``__transaction_state`` that the key belongs to.

There are no share groups: key type 2 of version 6 is refused for each key, as any unknown type is.

Deviation from Apache Kafka: the first request of all waits until the topic is created, where Apache Kafka
answers COORDINATOR_NOT_AVAILABLE and lets the client ask again.
"""

from __future__ import annotations

from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
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
    """Return the coordinators, once their topic exists."""
    if request.key_type not in (GROUP, TRANSACTION):
        raise RequestError(ErrorCode.INVALID_REQUEST, f"there is no coordinator of type {request.key_type}")
    topic = broker.groups.topic if request.key_type == GROUP else broker.transactions.topic
    if topic.exists:
        return _found(broker, topic, request, context)
    return Deferred.fromCoroutine(_find_when_ready(broker, topic, request, context))


async def _find_when_ready(
    broker: Broker, topic: InternalTopic, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    await topic.ensure()
    found = _found(broker, topic, request, context)
    return await found if isinstance(found, Deferred) else found


def _found(
    broker: Broker, topic: InternalTopic, request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse | Deferred[FindCoordinatorResponse]:
    listener = context.peer.session.listener
    if context.version >= MANY_SINCE:
        many = broker.slices.each(request.coordinator_keys, partial(_find, topic, listener))
        if isinstance(many, Deferred):
            return many.addCallback(_respond_many)
        return _respond_many(many)
    found = _find(topic, listener, request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _respond_many(coordinators: list[Coordinator]) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(coordinators=coordinators)


def _find(topic: InternalTopic, listener: str, key: str) -> Coordinator:
    """Return the leader of the key's partition, with its address for a listener."""
    try:
        node = topic.leader_of(key)
    except RequestError as error:
        return _failed(key, error.code, error_message(error))
    return Coordinator(key, node.id, *node.address(listener), 0, None)


def _failed(key: str, code: ErrorCode, why: str) -> Coordinator:
    return Coordinator(key, NO_NODE.id, NO_NODE.host, NO_NODE.port, code, why)


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
