"""ListTransactions (key 66), versions 0-2: the transactional ids that this broker coordinates.

1 adds a filter by the age of the transaction, 2 one by a regular expression for the id, as in RE2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.transactions.pattern import IdPattern
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

CHARACTERS = 10_000
"""Characters that are matched with an expression before other requests have their turn: some milliseconds."""


def answer(
    broker: Broker, request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse | Deferred[ListTransactionsResponse]:
    """List the transactional ids that pass all filters.

    :raises RequestError: COORDINATOR_LOAD_IN_PROGRESS: not all are known yet; INVALID_REGULAR_EXPRESSION.
    """
    coordinator = broker.transactions
    if coordinator.runtime.loading:
        raise RequestError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    passes = _filter(broker, request)
    listed = [_state(one) for one in coordinator.all() if passes(one)]
    if not request.transactional_id_pattern:
        return _respond(listed, request)
    pattern = IdPattern(request.transactional_id_pattern)
    matching: list[TransactionState] = []
    done = broker.slices.run(_match(listed, pattern, matching), matching)
    return done.addCallback(_respond, request)


def _state(one: Transaction) -> TransactionState:
    return TransactionState(one.transactional_id, one.metadata.producer_id, one.metadata.state.value)


def _respond(listed: list[TransactionState], request: ListTransactionsRequest) -> ListTransactionsResponse:
    names = {state.value for state in State}
    unknown = [name for name in dict.fromkeys(request.state_filters) if name not in names]
    return ListTransactionsResponse(0, 0, unknown, listed)


def _match(
    listed: list[TransactionState], pattern: IdPattern, matching: list[TransactionState]
) -> Iterator[None]:
    """Add the states whose ids match to *matching*, in steps."""
    characters = 0
    for one in listed:
        if pattern.matches(one.transactional_id):
            matching.append(one)
        characters += len(one.transactional_id)
        if characters >= CHARACTERS:
            characters = 0
            yield


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
