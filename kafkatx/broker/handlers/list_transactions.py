"""ListTransactions (key 66), versions 0-1: the transactional ids that this broker coordinates.

1 adds a filter by the age of the transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.transactions.states import State
from kafkatx.transactions.transaction import Transaction
from kafkatx.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

Filter = Callable[[Transaction], bool]


def answer(
    broker: Broker, request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse:
    """List the transactional ids that pass all filters.

    :raises RequestError: COORDINATOR_LOAD_IN_PROGRESS: not all are known yet.
    """
    coordinator = broker.transactions
    if coordinator.runtime.loading:
        raise RequestError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    names = {state.value for state in State}
    unknown = [name for name in dict.fromkeys(request.state_filters) if name not in names]
    passes = _filter(broker, request)
    return ListTransactionsResponse(
        0,
        0,
        unknown,
        [
            TransactionState(one.transactional_id, one.metadata.producer_id, one.metadata.state.value)
            for one in coordinator.all()
            if passes(one)
        ],
    )


def _filter(broker: Broker, request: ListTransactionsRequest) -> Filter:
    states, producer_ids = set(request.state_filters), set(request.producer_id_filters)
    longest_ms, now_ms = request.duration_filter, broker.now_ms()

    def passes(transaction: Transaction) -> bool:
        metadata = transaction.metadata
        if states and metadata.state.value not in states:
            return False
        if producer_ids and metadata.producer_id not in producer_ids:
            return False
        return longest_ms < 0 or now_ms - metadata.start_ms > longest_ms

    return passes


def refuse(
    request: ListTransactionsRequest, context: RequestContext, code: ErrorCode, message: str
) -> ListTransactionsResponse:
    """Refuse the request with an error."""
    return ListTransactionsResponse(0, code)


API = Api(ListTransactionsRequest, ListTransactionsResponse, answer, refuse)
