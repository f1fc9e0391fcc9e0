"""AddPartitionsToTxn (key 24), versions 0-5: partitions will be part of a transaction.

*   0-3 come from clients. If a partition does not exist, or a link fills its topic, none is added, and the
    others have OPERATION_NOT_ATTEMPTED. Before version 2 a fenced producer is told INVALID_PRODUCER_EPOCH.
*   4-5 come from brokers, for several transactions, and may ask only whether the partitions are in them
    (:mod:`kafkatx.broker.coordinator.transactions.verification`). They lead the partitions, and know
    themselves whether clients may write to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.transactions.client_errors import known_error
from kafkatx.broker.dispatch import Api
from kafkatx.broker.replica.logs.topic_settings import mirror_of
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import TRANSACTION_STATE
from kafkatx.transactions.actions import Reply
from kafkatx.transactions.metadata import TV1, TV2, Producer
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

OF_BROKERS_SINCE = 4

ErrorOf = Callable[[TopicPartition], ErrorCode]
"""Returns the error of a partition, or NONE."""


def answer(
    broker: Broker, request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse | Deferred[AddPartitionsToTxnResponse]:
    """Add the partitions."""
    if context.version >= OF_BROKERS_SINCE:
        if broker.inter_broker_port not in (None, context.peer.local_port):
            raise RequestError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "this listener is not for brokers")
        return Deferred.fromCoroutine(_add_several(broker, request))
    topics, version = request.v3_and_below_topics, context.version
    refusals = _refusals(broker, _partitions(topics))
    if refusals:
        return _respond(topics, refusals.__getitem__)
    producer = Producer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    transactional_id = request.v3_and_below_transactional_id
    added = broker.transactions.add(
        transactional_id, producer, list(_partitions(topics)), TV1, context.peer.number
    )
    if isinstance(added, Deferred):
        return added.addCallback(partial(_respond_all, topics, version))
    return _respond_all(topics, version, added)


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> dict[TopicPartition, None]:
    return {TopicPartition(topic.name, number): None for topic in topics for number in topic.partitions}


def _refusal(broker: Broker, partition: TopicPartition) -> ErrorCode:
    if partition.topic == TRANSACTION_STATE:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    topic = broker.metadata.state.topics.get(partition.topic)
    if topic is None or not 0 <= partition.partition < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    mirror = mirror_of(topic)
    is_filled = mirror is not None and not mirror.writable
    return ErrorCode.POLICY_VIOLATION if is_filled else ErrorCode.NONE


def _refusals(broker: Broker, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
    """Return an error for each partition; none at all if all may be added."""
    errors = {one: _refusal(broker, one) for one in partitions}
    if not any(errors.values()):
        return {}
    return {one: error or ErrorCode.OPERATION_NOT_ATTEMPTED for one, error in errors.items()}


def _respond_all(
    topics: Sequence[AddPartitionsToTxnTopic], version: int, reply: Reply
) -> AddPartitionsToTxnResponse:
    error = known_error(reply.error, version)
    return _respond(topics, lambda _: error)


def _respond(topics: Sequence[AddPartitionsToTxnTopic], error_of: ErrorOf) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(topics, error_of))


def _results(
    topics: Sequence[AddPartitionsToTxnTopic], error_of: ErrorOf
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(number, error_of(TopicPartition(topic.name, number)))
                for number in topic.partitions
            ],
        )
        for topic in topics
    ]


# --- requests of brokers


async def _add_several(broker: Broker, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    results = [await _add_one(broker, transaction) for transaction in request.transactions]
    return AddPartitionsToTxnResponse(results_by_transaction=results)


async def _add_one(broker: Broker, asked: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult:
    producer = Producer(asked.producer_id, asked.producer_epoch)
    partitions = _partitions(asked.topics)
    try:
        if asked.verify_only:
            verify = broker.transactions.verify
            found = {one: verify(asked.transactional_id, producer, one) for one in partitions}
        else:
            added = broker.transactions.add(asked.transactional_id, producer, list(partitions), TV2)
            reply = await added if isinstance(added, Deferred) else added
            found = dict.fromkeys(partitions, reply.error)
    except RequestError as error:
        found = dict.fromkeys(partitions, error.code)
    return AddPartitionsToTxnResult(asked.transactional_id, _results(asked.topics, found.__getitem__))


def refuse(
    request: AddPartitionsToTxnRequest, context: RequestContext, code: ErrorCode, message: str
) -> AddPartitionsToTxnResponse:
    """Refuse every partition with the same error; from version 4 on, the whole request."""
    if context.version >= OF_BROKERS_SINCE:
        return AddPartitionsToTxnResponse(error_code=code)
    return _respond_all(request.v3_and_below_topics, context.version, Reply(code))


API = Api(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, answer, refuse)
