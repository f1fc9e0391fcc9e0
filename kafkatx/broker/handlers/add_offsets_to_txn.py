"""AddOffsetsToTxn (key 25), versions 0-4: the offsets of a group will be part of a transaction.

The partition of ``__consumer_offsets`` that has them is added to the transaction. Before version 2 a fenced
producer is told INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.transactions.client_errors import known_error
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.transactions.actions import Reply
from kafkatx.transactions.metadata import TV1, Producer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse


def answer(
    broker: Broker, request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse | Deferred[AddOffsetsToTxnResponse]:
    """Add the group's partition, once ``__consumer_offsets`` exists."""
    if not broker.groups.topic.exists:
        return Deferred.fromCoroutine(_add_when_ready(broker, request, context))
    added = _add(broker, request, context)
    if isinstance(added, Deferred):
        return added.addCallback(_respond, context.version)
    return _respond(added, context.version)


async def _add_when_ready(
    broker: Broker, request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse:
    await broker.groups.topic.ensure()
    added = _add(broker, request, context)
    return _respond(await added if isinstance(added, Deferred) else added, context.version)


def _add(broker: Broker, request: AddOffsetsToTxnRequest, context: RequestContext) -> Reply | Deferred[Reply]:
    partition = TopicPartition(CONSUMER_OFFSETS, broker.groups.topic.partition_of(request.group_id))
    producer = Producer(request.producer_id, request.producer_epoch)
    return broker.transactions.add(request.transactional_id, producer, [partition], TV1, context.peer.number)


def _respond(reply: Reply, version: int) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(0, known_error(reply.error, version))


def refuse(
    request: AddOffsetsToTxnRequest, context: RequestContext, code: ErrorCode, message: str
) -> AddOffsetsToTxnResponse:
    """Refuse the request with an error."""
    return AddOffsetsToTxnResponse(0, known_error(code, context.version))


API = Api(AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, answer, refuse)
