"""Requests that list, describe, abort and fence transactions, and what their replies say. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from kafkatx.clientcore.errors import check
from kafkatx.clientcore.transactions.values import (
    OpenTransaction,
    PartitionProducer,
    TransactionDescription,
    TransactionListing,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from kafkatx.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

AGE_SINCE, PATTERN_SINCE = 1, 2
"""The versions of ListTransactions that know these filters."""


def list_request(
    version: int,
    states: Collection[str] = (),
    producer_ids: Collection[int] = (),
    older_ms: int | None = None,
    pattern: str | None = None,
) -> ListTransactionsRequest:
    """Return the request for the transactional ids of one broker; empty filters let all pass.

    :param version: the version for this broker.
    :param older_ms: only transactions that are older than this.
    :param pattern: a regular expression that the whole id matches, as the broker's RE2 understands it.
    :raises RequestError: UNSUPPORTED_VERSION: the broker would not know a filter, and list all.
    """
    for name, given, since in (("an age", older_ms, AGE_SINCE), ("a pattern", pattern, PATTERN_SINCE)):
        if given is not None and version < since:
            raise RequestError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"the broker cannot filter transactional ids by {name}: it has ListTransactions"
                f" {version}, that takes {since}",
            )
    age_ms = -1 if older_ms is None else older_ms
    return ListTransactionsRequest(list(states), list(producer_ids), age_ms, pattern)


def listings(response: ListTransactionsResponse, coordinator: int) -> list[TransactionListing]:
    """Return the transactional ids of a reply.

    :raises RequestError: COORDINATOR_LOAD_IN_PROGRESS, ...
    """
    check(response.error_code, f"transactions of broker {coordinator}")
    return [
        TransactionListing(one.transactional_id, coordinator, one.producer_id, one.transaction_state)
        for one in response.transaction_states
    ]


def describe_request(transactional_id: str) -> DescribeTransactionsRequest:
    """Return the request for the state of a transactional id."""
    return DescribeTransactionsRequest([transactional_id])


def description(response: DescribeTransactionsResponse, coordinator: int) -> TransactionDescription:
    """Return the state of a reply.

    :raises RequestError: TRANSACTIONAL_ID_NOT_FOUND, NOT_COORDINATOR, ...
    """
    state = response.transaction_states[0]
    check(state.error_code, f"transactional id {state.transactional_id!r}")
    places = [TopicPartition(topic.topic, number) for topic in state.topics for number in topic.partitions]
    return TransactionDescription(
        state.transactional_id,
        coordinator,
        state.transaction_state,
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        state.transaction_start_time_ms,
        tuple(sorted(places)),
    )


def producers_request(places: Iterable[TopicPartition]) -> DescribeProducersRequest:
    """Return the request for the producers of partitions, to their leader."""
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in places:
        topics[topic].append(number)
    return DescribeProducersRequest([TopicRequest(topic, numbers) for topic, numbers in topics.items()])


def partition_producers(response: DescribeProducersResponse) -> dict[TopicPartition, list[PartitionProducer]]:
    """Return the producers of each partition of a reply.

    :raises RequestError: a partition's error.
    """
    found = {}
    for topic in response.topics:
        for part in topic.partitions:
            place = TopicPartition(topic.name, part.partition_index)
            check(part.error_code, f"producers of {place}", part.error_message)
            found[place] = [
                PartitionProducer(
                    one.producer_id,
                    one.producer_epoch,
                    one.last_sequence,
                    one.last_timestamp,
                    one.coordinator_epoch,
                    one.current_txn_start_offset,
                )
                for one in part.active_producers
            ]
    return found


def open_transactions(response: DescribeProducersResponse) -> list[OpenTransaction]:
    """Return the transactions that are open in the partitions of a reply.

    :raises RequestError: a partition's error.
    """
    return [
        OpenTransaction(
            place, one.producer_id, one.producer_epoch, one.start_offset, one.last_ms, one.coordinator_epoch
        )
        for place, producers in partition_producers(response).items()
        for one in producers
        if one.start_offset >= 0
    ]


def fence_request(transactional_id: str, timeout_ms: int) -> InitProducerIdRequest:
    """Return the request that fences the producers of a transactional id, and aborts their transaction.

    :param timeout_ms: the time-out of the id's transactions until a producer sets its own.
    """
    return InitProducerIdRequest(transactional_id, timeout_ms)


def abort_request(transaction: OpenTransaction) -> WriteTxnMarkersRequest:
    """Return the request that ends a hanging transaction, to its partition's leader."""
    place = transaction.partition
    marker = WritableTxnMarker(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(place.topic, [place.partition])],
        coordinator_epoch=max(transaction.coordinator_epoch, 0),
    )
    return WriteTxnMarkersRequest([marker])


def check_aborted(response: WriteTxnMarkersResponse) -> None:
    """Raise the error of the marker.

    :raises RequestError: the transaction was not ended: NOT_LEADER_OR_FOLLOWER, INVALID_PRODUCER_EPOCH, ...
    """
    for marker in response.markers:
        for topic in marker.topics:
            for part in topic.partitions:
                check(part.error_code, f"the transaction in {topic.name} [{part.partition_index}]")
