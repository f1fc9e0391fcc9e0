"""Produce (key 0), versions 0-12: records for partitions.

*   0-2 carry message sets of magic 0 and 1; from 3 on exactly one batch of magic 2 per partition.
*   1 adds the throttle time, 2 the log append time, 3 the transactional id, 5 the log start offset.
*   7 allows zstd; 8 adds errors of single records (KIP-467); 9 is flexible; 10 names new leaders (KIP-951).
*   11 may return TRANSACTION_ABORTABLE; 12 adds the partitions to the transaction by itself (KIP-890).
"""

from __future__ import annotations

from kafkatx.types import Records
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.schema import (
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class PartitionProduceData(Struct):
    """The records for one partition."""

    index: int = field(INT32)
    records: Records | None = field(nullable(RECORDS))


class TopicProduceData(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partition_data: list[PartitionProduceData] = field(array(PartitionProduceData))


class ProduceRequest(Message, key=0, versions=(0, 12), flexible=9):
    """Append records. ``acks``: 0 no response, 1 after the leader's write, -1 after all in-sync replicas'."""

    transactional_id: str | None = field(nullable(STRING), since=3)
    acks: int = field(INT16)
    timeout_ms: int = field(INT32)
    topic_data: list[TopicProduceData] = field(array(TopicProduceData))


class BatchIndexAndErrorMessage(Struct):
    """One record at fault, by its index in the batch."""

    batch_index: int = field(INT32)
    batch_index_error_message: str | None = field(nullable(STRING))


class PartitionProduceResponse(Struct):
    """The result for one partition."""

    index: int = field(INT32)
    error_code: int = field(INT16)
    base_offset: int = field(INT64)
    log_append_time_ms: int = field(INT64, since=2, default=-1)
    log_start_offset: int = field(INT64, since=5, default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = field(array(BatchIndexAndErrorMessage), since=8)
    error_message: str | None = field(nullable(STRING), since=8)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, since=10, tag=0)


class TopicProduceResponse(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partition_responses: list[PartitionProduceResponse] = field(array(PartitionProduceResponse))


class ProduceResponse(Message, key=0, versions=(0, 12), flexible=9):
    """The results."""

    responses: list[TopicProduceResponse] = field(array(TopicProduceResponse))
    throttle_time_ms: int = field(INT32, since=1)
    node_endpoints: list[NodeEndpoint] = field(array(NodeEndpoint), since=10, tag=0)
