"""InitProducerId (key 22), versions 0-5.

Without a transactional id, every request gets a new producer id, as in Apache Kafka. With one, the
transaction coordinator gives the producer its epoch, and fences the one before.

If the coordinator can abort the transaction of that one at once, the new producer gets its epoch at once,
where Apache Kafka lets it ask again. Before version 4 a fenced producer is told INVALID_PRODUCER_EPOCH.
Two-phase commits (version 6) are not offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:  # the machines are imported with the first transaction
    from kafkatx.transactions.actions import Reply
    from kafkatx.transactions.metadata import Producer

FENCED_SINCE = 4
LONGEST_ID_BYTES = 2**15 - 1
"""The longest transactional id that a record of ``__transaction_state`` can hold."""


def answer(
    broker: Broker, request: InitProducerIdRequest, context: RequestContext
) -> Deferred[InitProducerIdResponse]:
    """Allocate a producer id, or give the producer of a transactional id its epoch."""
    if request.transactional_id is None:
        return Deferred.fromCoroutine(_new_id(broker))
    _check(broker, request, request.transactional_id, context)
    return Deferred.fromCoroutine(_initialize(broker, request, request.transactional_id, context.version))


async def _new_id(broker: Broker) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)


def _check(
    broker: Broker, request: InitProducerIdRequest, transactional_id: str, context: RequestContext
) -> None:
    """Check the request by itself.

    :raises RequestError: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT.
    """
    if not transactional_id or len(transactional_id.encode()) > LONGEST_ID_BYTES:
        raise RequestError(ErrorCode.INVALID_REQUEST, "the transactional id is empty or too long")
    has_id, has_epoch = (
        request.producer_id != NO_PRODUCER_ID,
        request.producer_epoch != NO_PRODUCER_EPOCH,
    )
    if has_id != has_epoch:
        raise RequestError(ErrorCode.INVALID_REQUEST, "a producer id without an epoch, or the reverse")
    most_ms = broker.transactions.max_timeout_ms
    if not 0 < request.transaction_timeout_ms <= most_ms:
        broker.limited_log.warn(
            "{peer} asked for transaction.timeout.ms={asked} for transactional id {id}, and was refused:"
            " transaction.max.timeout.ms={most} here",
            peer=context.peer,
            asked=request.transaction_timeout_ms,
            id=quoted(transactional_id),
            most=most_ms,
        )
        raise RequestError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


async def _initialize(
    broker: Broker, request: InitProducerIdRequest, transactional_id: str, version: int
) -> InitProducerIdResponse:
    from kafkatx.broker.coordinator.transactions.client_errors import known_error
    from kafkatx.transactions.metadata import Producer

    transaction, new_id = broker.transactions.find(transactional_id), NO_PRODUCER_ID
    if transaction is None or transaction.wants_new_id:
        new_id = await broker.producer_ids.next()
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = Producer(request.producer_id, request.producer_epoch)
    error, producer = await _ask(broker, request, transactional_id, expected, new_id)
    is_idle = transaction is not None and transaction.is_idle and not transaction.wants_new_id
    if error == ErrorCode.CONCURRENT_TRANSACTIONS and expected is None and is_idle:
        # the transaction of the producer before is aborted already
        error, producer = await _ask(broker, request, transactional_id, None, new_id)
    return InitProducerIdResponse(0, known_error(error, version, FENCED_SINCE), *producer)


async def _ask(
    broker: Broker,
    request: InitProducerIdRequest,
    transactional_id: str,
    expected: Producer | None,
    new_id: int,
) -> Reply:
    timeout_ms = request.transaction_timeout_ms
    asked = broker.transactions.initialize(transactional_id, expected, timeout_ms, new_id)
    return await asked if isinstance(asked, Deferred) else asked


def refuse(
    request: InitProducerIdRequest, context: RequestContext, code: ErrorCode, message: str
) -> InitProducerIdResponse:
    """Refuse the request with an error, without an id."""
    return InitProducerIdResponse(0, code, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


API = Api(InitProducerIdRequest, InitProducerIdResponse, answer, refuse)
