"""EndTxn (key 26), versions 0-5: the transaction coordinator commits or aborts a transaction.

The answer comes when the decision is stored on all in-sync replicas; markers follow. From version 5 on it has
the producer id and the epoch of the next transaction. Before version 2 a fenced producer is told
INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.transactions.client_errors import known_error
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.transactions.actions import Reply
from kafkatx.transactions.metadata import TV1, TV2, Producer
from kafkatx.types import NO_PRODUCER_ID
from kafkatx.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

BUMPS_EPOCH_SINCE = 5


def answer(
    broker: Broker, request: EndTxnRequest, context: RequestContext
) -> EndTxnResponse | Deferred[EndTxnResponse]:
    """End the transaction.

    :raises ProtocolViolation: the request was sent for an earlier transaction.
    """
    version = context.version
    transaction = broker.transactions.find(request.transactional_id)
    if version >= BUMPS_EPOCH_SINCE:
        if transaction is not None and transaction.wants_new_id:
            return Deferred.fromCoroutine(_end_with_new_id(broker, request, version))
    elif transaction is not None:
        producer = Producer(request.producer_id, request.producer_epoch)
        broker.transactions.late_ends.check(
            transaction, producer, context.peer, broker.config, broker.limited_log
        )
    ended = _end(broker, request, version, NO_PRODUCER_ID)
    if isinstance(ended, Deferred):
        return ended.addCallback(_respond, version)
    return _respond(ended, version)


async def _end_with_new_id(broker: Broker, request: EndTxnRequest, version: int) -> EndTxnResponse:
    ended = _end(broker, request, version, await broker.producer_ids.next())
    return _respond(await ended if isinstance(ended, Deferred) else ended, version)


def _end(broker: Broker, request: EndTxnRequest, version: int, new_id: int) -> Reply | Deferred[Reply]:
    producer = Producer(request.producer_id, request.producer_epoch)
    client_version = TV2 if version >= BUMPS_EPOCH_SINCE else TV1
    return broker.transactions.end(
        request.transactional_id, producer, request.committed, client_version, new_id
    )


def _respond(reply: Reply, version: int) -> EndTxnResponse:
    return EndTxnResponse(0, known_error(reply.error, version), *reply.producer)


def refuse(request: EndTxnRequest, context: RequestContext, code: ErrorCode, message: str) -> EndTxnResponse:
    """Refuse the request with an error."""
    return EndTxnResponse(0, known_error(code, context.version))


API = Api(EndTxnRequest, EndTxnResponse, answer, refuse)
