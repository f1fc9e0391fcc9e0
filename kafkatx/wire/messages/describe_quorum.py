"""DescribeQuorum (key 55), versions 0-2: the voters of the metadata quorum (KIP-595).

*   Flexible from the first version on; 1 adds the times of a replica's last fetch (KIP-836), 2 messages,
    directory ids and the voters' addresses (KIP-853).
"""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import (
    INT16,
    INT32,
    INT64,
    NULL_UUID,
    STRING,
    UINT16,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class PartitionRequest(Struct):
    """A partition of the metadata topic."""

    partition_index: int = field(INT32)


class TopicRequest(Struct):
    """The metadata topic."""

    topic_name: str = field(STRING)
    partitions: list[PartitionRequest] = field(array(PartitionRequest))


class DescribeQuorumRequest(Message, key=55, versions=(0, 2), flexible=0):
    """Request the quorum of partitions; only ``__cluster_metadata``-0 has one."""

    topics: list[TopicRequest] = field(array(TopicRequest))


class ReplicaState(Struct):
    """A voter or observer, with its log end offset."""

    replica_id: int = field(INT32)
    replica_directory_id: uuid.UUID = field(UUID, since=2, default=NULL_UUID)
    log_end_offset: int = field(INT64)
    last_fetch_timestamp: int = field(INT64, since=1, default=-1)
    last_caught_up_timestamp: int = field(INT64, since=1, default=-1)


class PartitionData(Struct):
    """The quorum of one partition, or its error."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING), since=2)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    high_watermark: int = field(INT64)
    current_voters: list[ReplicaState] = field(array(ReplicaState))
    observers: list[ReplicaState] = field(array(ReplicaState))


class TopicData(Struct):
    """The partitions of one topic."""

    topic_name: str = field(STRING)
    partitions: list[PartitionData] = field(array(PartitionData))


class Listener(Struct):
    """An address of a voter."""

    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


class Node(Struct):
    """A voter and its addresses."""

    node_id: int = field(INT32)
    listeners: list[Listener] = field(array(Listener))


class DescribeQuorumResponse(Message, key=55, versions=(0, 2), flexible=0):
    """The quorums."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING), since=2)
    topics: list[TopicData] = field(array(TopicData))
    nodes: list[Node] = field(array(Node), since=2)
