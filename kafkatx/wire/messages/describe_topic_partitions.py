"""DescribeTopicPartitions (key 75), version 0: topics with their partitions, page by page (KIP-966)."""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import (
    BOOLEAN,
    INT16,
    INT32,
    NULL_UUID,
    STRING,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class TopicRequest(Struct):
    """A topic asked for."""

    name: str = field(STRING)


class Cursor(Struct):
    """The first partition of a page."""

    topic_name: str = field(STRING)
    partition_index: int = field(INT32)


class DescribeTopicPartitionsRequest(Message, key=75, versions=(0, 0), flexible=0):
    """Request a page of partitions; without topics, of all topics."""

    topics: list[TopicRequest] = field(array(TopicRequest))
    response_partition_limit: int = field(INT32, default=2000)
    cursor: Cursor | None = field(nullable(Cursor), default=None)


class DescribeTopicPartitionsResponsePartition(Struct):
    """A partition, its leader (-1: none) and its replicas."""

    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32, default=-1)
    replica_nodes: list[int] = field(array(INT32))
    isr_nodes: list[int] = field(array(INT32))
    eligible_leader_replicas: list[int] | None = field(nullable(array(INT32)), default=None)
    last_known_elr: list[int] | None = field(nullable(array(INT32)), default=None)
    offline_replicas: list[int] = field(array(INT32))


class DescribeTopicPartitionsResponseTopic(Struct):
    """A topic, or its error."""

    error_code: int = field(INT16)
    name: str | None = field(nullable(STRING))
    topic_id: uuid.UUID = field(UUID, default=NULL_UUID)
    is_internal: bool = field(BOOLEAN)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(
        array(DescribeTopicPartitionsResponsePartition)
    )
    topic_authorized_operations: int = field(INT32, default=-(2**31))


class DescribeTopicPartitionsResponse(Message, key=75, versions=(0, 0), flexible=0):
    """A page of topics, in the order of their names; ``next_cursor`` is set if there is another page."""

    throttle_time_ms: int = field(INT32)
    topics: list[DescribeTopicPartitionsResponseTopic] = field(array(DescribeTopicPartitionsResponseTopic))
    next_cursor: Cursor | None = field(nullable(Cursor), default=None)
