"""OffsetFetch (key 9), versions 0-9: the offsets that groups have committed.

*   0 reads the offsets that Kafka 0.8.1 stored in ZooKeeper; its format is that of 1.
*   2 has null for all topics, and an error of the whole response; 3 adds the throttle time, 5 leader epochs.
*   6 is flexible; 7 can require stable offsets, without pending transactions (KIP-447).
*   8 has several groups in one request, 9 a member and its epoch (KIP-848).
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
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


class OffsetFetchRequestTopic(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


class OffsetFetchRequestTopics(Struct):
    """Partitions of one topic, from version 8 on."""

    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


class OffsetFetchRequestGroup(Struct):
    """One group; null topics means all topics with offsets."""

    group_id: str = field(STRING)
    member_id: str | None = field(nullable(STRING), since=9)
    member_epoch: int = field(INT32, since=9, default=-1)
    topics: list[OffsetFetchRequestTopics] | None = field(nullable(array(OffsetFetchRequestTopics)))


class OffsetFetchRequest(Message, key=9, versions=(0, 9), flexible=6):
    """Request the offsets of one group, or from version 8 on of several."""

    group_id: str = field(STRING, until=7)
    topics: list[OffsetFetchRequestTopic] | None = field(
        nullable(array(OffsetFetchRequestTopic)), until=7, nullable_since=2
    )
    groups: list[OffsetFetchRequestGroup] = field(array(OffsetFetchRequestGroup), since=8)
    require_stable: bool = field(BOOLEAN, since=7)


class OffsetFetchResponsePartition(Struct):
    """An offset with its metadata; -1 if none was committed."""

    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, since=5, default=-1)
    metadata: str | None = field(nullable(STRING))
    error_code: int = field(INT16)


class OffsetFetchResponseTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[OffsetFetchResponsePartition] = field(array(OffsetFetchResponsePartition))


class OffsetFetchResponsePartitions(Struct):
    """An offset with its metadata, from version 8 on."""

    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, default=-1)
    metadata: str | None = field(nullable(STRING))
    error_code: int = field(INT16)


class OffsetFetchResponseTopics(Struct):
    """The partitions of one topic, from version 8 on."""

    name: str = field(STRING)
    partitions: list[OffsetFetchResponsePartitions] = field(array(OffsetFetchResponsePartitions))


class OffsetFetchResponseGroup(Struct):
    """One group's offsets."""

    group_id: str = field(STRING)
    topics: list[OffsetFetchResponseTopics] = field(array(OffsetFetchResponseTopics))
    error_code: int = field(INT16)


class OffsetFetchResponse(Message, key=9, versions=(0, 9), flexible=6):
    """The offsets."""

    throttle_time_ms: int = field(INT32, since=3)
    topics: list[OffsetFetchResponseTopic] = field(array(OffsetFetchResponseTopic), until=7)
    error_code: int = field(INT16, since=2, until=7)
    groups: list[OffsetFetchResponseGroup] = field(array(OffsetFetchResponseGroup), since=8)
