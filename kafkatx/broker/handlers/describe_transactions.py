"""DescribeTransactions (key 65), version 0: the state of transactional ids that this broker coordinates."""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.transactions.records import by_topic
from kafkatx.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


def answer(
    broker: Broker, request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    """Describe each transactional id; a repeated one is described once."""
    names = dict.fromkeys(request.transactional_ids)
    return DescribeTransactionsResponse(0, [_describe(broker, name) for name in names])


def _describe(broker: Broker, transactional_id: str) -> TransactionState:
    try:
        transaction = broker.transactions.find(transactional_id)
    except RequestError as error:
        return TransactionState(error.code, transactional_id)
    if transaction is None:
        return TransactionState(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
    metadata = transaction.metadata
    return TransactionState(
        0,
        transactional_id,
        metadata.state.value,
        metadata.timeout_ms,
        metadata.start_ms,
        metadata.producer_id,
        metadata.producer_epoch,
        [TopicData(topic, numbers) for topic, numbers in by_topic(metadata.partitions)],
    )


def refuse(
    request: DescribeTransactionsRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeTransactionsResponse:
    """Refuse every transactional id with the same error."""
    return DescribeTransactionsResponse(
        0, [TransactionState(code, name) for name in request.transactional_ids]
    )


API = Api(DescribeTransactionsRequest, DescribeTransactionsResponse, answer, refuse)
