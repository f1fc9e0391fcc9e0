"""DescribeProducers (key 61), version 0: the idempotent producers that write to partitions (KIP-664)."""

from __future__ import annotations

from kafkatx.wire.schema import (
    INT16,
    INT32,
    INT64,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class TopicRequest(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


class DescribeProducersRequest(Message, key=61, versions=(0, 0), flexible=0):
    """Ask for the producers of partitions."""

    topics: list[TopicRequest] = field(array(TopicRequest))


class ProducerState(Struct):
    """A producer; -1 means a missing value."""

    producer_id: int = field(INT64)
    producer_epoch: int = field(INT32)
    last_sequence: int = field(INT32, default=-1)
    last_timestamp: int = field(INT64, default=-1)
    coordinator_epoch: int = field(INT32)
    current_txn_start_offset: int = field(INT64, default=-1)


class PartitionResponse(Struct):
    """One partition's producers."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    active_producers: list[ProducerState] = field(array(ProducerState))


class TopicResponse(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[PartitionResponse] = field(array(PartitionResponse))


class DescribeProducersResponse(Message, key=61, versions=(0, 0), flexible=0):
    """The producers."""

    throttle_time_ms: int = field(INT32)
    topics: list[TopicResponse] = field(array(TopicResponse))
