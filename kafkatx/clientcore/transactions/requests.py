"""ListTransactions, DescribeTransactions, DescribeProducers and WriteTxnMarkers, as tools use them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from kafkatx.clientcore.errors import check
from kafkatx.clientcore.transactions.values import OpenTransaction, TransactionDescription, TransactionListing
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
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafkatx.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


def list_request(states: Collection[str] = (), producer_ids: Collection[int] = ()) -> ListTransactionsRequest:
    """Return the request for the transactional ids of one broker; empty filters let all pass."""
    return ListTransactionsRequest(list(states), list(producer_ids))


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


def open_transactions(response: DescribeProducersResponse) -> list[OpenTransaction]:
    """Return the transactions that are open in the partitions of a reply.

    :raises RequestError: a partition's error.
    """
    found = []
    for topic in response.topics:
        for part in topic.partitions:
            place = TopicPartition(topic.name, part.partition_index)
            check(part.error_code, f"producers of {place}", part.error_message)
            found += [
                OpenTransaction(
                    place,
                    one.producer_id,
                    one.producer_epoch,
                    one.current_txn_start_offset,
                    one.last_timestamp,
                    one.coordinator_epoch,
                )
                for one in part.active_producers
                if one.current_txn_start_offset >= 0
            ]
    return found


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
