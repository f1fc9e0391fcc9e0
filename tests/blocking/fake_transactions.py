"""Transactions of a cluster in memory, for tools: ids, and producers of partitions."""

from __future__ import annotations

import re
from typing import Any

from kafkatx.clientcore.transactions.values import OpenTransaction, TransactionDescription
from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import (
    describe_producers,
    describe_transactions,
    find_coordinator,
    list_transactions,
    write_txn_markers,
)
from tests.blocking.fakes import FakeCluster, Log

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BILLING = TransactionDescription("billing", 2, "Ongoing", 7, 3, 60_000, 5_000, (T0,))
IDLE = TransactionDescription("idle", 2, "Empty", 8, 0, 60_000, -1, ())
KNOWN = OpenTransaction(T0, 7, 3, 10, 5_000, 4)
HANGING = OpenTransaction(T1, 9, 1, 20, 6_000, -1)


class FakeTransactions(FakeCluster):
    """A topic with two partitions of brokers 1 and 2, of which 2 coordinates all transactional ids.

    :ivar ids: the transactional ids.
    :ivar open: what is open in partitions.
    """

    def __init__(self) -> None:
        super().__init__({"t": [Log(), Log(leader=2)]}, brokers=2)
        self.ids = [BILLING, IDLE]
        self.open = [KNOWN, HANGING]
        self.markers: list[Any] = []

    def answer_find_coordinator(self, node: int, request: Any, version: int, error: int) -> Any:
        """Name broker 2; only transactional ids are asked for."""
        assert request.key_type == 1
        if version >= 4:
            found = find_coordinator.Coordinator(request.coordinator_keys[0], 2, "broker2", 9092, error)
            return find_coordinator.FindCoordinatorResponse(coordinators=[found])
        return find_coordinator.FindCoordinatorResponse(
            error_code=error, node_id=2, host="broker2", port=9092
        )

    def answer_list_transactions(self, node: int, request: Any, version: int, error: int) -> Any:
        """All ids in the states that are asked for, from broker 2."""
        found = [
            list_transactions.TransactionState(one.transactional_id, one.producer_id, one.state)
            for one in (self.ids if node == 2 else ())
            if (not request.state_filters or one.state in request.state_filters)
            and re.fullmatch(request.transactional_id_pattern or ".*", one.transactional_id)
        ]
        return list_transactions.ListTransactionsResponse(error_code=error, transaction_states=found)

    def answer_describe_transactions(self, node: int, request: Any, version: int, error: int) -> Any:
        """The state of one id."""
        (name,) = request.transactional_ids
        found = [one for one in self.ids if one.transactional_id == name]
        if node != 2 or error or not found:
            code = error or (ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if node == 2 else ErrorCode.NOT_COORDINATOR)
            state = describe_transactions.TransactionState(code, name)
        else:
            one = found[0]
            topics = [describe_transactions.TopicData(at.topic, [at.partition]) for at in one.partitions]
            state = describe_transactions.TransactionState(
                0, name, one.state, one.timeout_ms, one.start_ms, one.producer_id, one.producer_epoch, topics
            )
        return describe_transactions.DescribeTransactionsResponse(0, [state])

    def answer_describe_producers(self, node: int, request: Any, version: int, error: int) -> Any:
        """The producers of one partition: those with transactions, and one without."""
        topic = request.topics[0]
        place = TopicPartition(topic.name, topic.partition_indexes[0])
        if self.topics[place.topic][place.partition].leader != node:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        producers = [describe_producers.ProducerState(1, 0, 5, 1_000, -1)]
        producers += [
            describe_producers.ProducerState(
                one.producer_id, one.producer_epoch, 5, one.last_ms, one.coordinator_epoch, one.start_offset
            )
            for one in self.open
            if one.partition == place
        ]
        part = describe_producers.PartitionResponse(place.partition, error, None, producers)
        return describe_producers.DescribeProducersResponse(
            0, [describe_producers.TopicResponse(place.topic, [part])]
        )

    def answer_write_txn_markers(self, node: int, request: Any, version: int, error: int) -> Any:
        """Take a marker."""
        (marker,) = request.markers
        (topic,) = marker.topics
        (number,) = topic.partition_indexes
        if self.topics[topic.name][number].leader != node:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not error:
            self.markers.append(marker)
            self.open = [one for one in self.open if one.producer_id != marker.producer_id]
        part = write_txn_markers.WritableTxnMarkerPartitionResult(number, error)
        result = write_txn_markers.WritableTxnMarkerTopicResult(topic.name, [part])
        return write_txn_markers.WriteTxnMarkersResponse(
            [write_txn_markers.WritableTxnMarkerResult(marker.producer_id, [result])]
        )
