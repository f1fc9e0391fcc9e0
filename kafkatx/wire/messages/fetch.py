"""Fetch (key 1), versions 0-17: records from partitions.

*   0-1 expect magic 0, 2-3 at most magic 1, from 4 on magic 2; zstd needs 10.
*   1 adds the throttle time, 3 the limit of the whole response, 4 the isolation level and aborted
    transactions, 5 the log start offset, 7 sessions (KIP-227), 9 the leader epoch (KIP-320), 11 racks and
    the preferred replica (KIP-392).
*   12 is flexible and has diverging epochs, leaders and snapshots in tagged fields (KIP-595).
*   13 has topic ids in place of names (KIP-516).
*   14 has the error OFFSET_MOVED_TO_TIERED_STORAGE (KIP-405); in 15 the follower is in a tagged field
    (KIP-903); 16 adds the addresses of new leaders (KIP-951); 17 has the directory of a voter of KRaft.
"""

from __future__ import annotations

import uuid

from kafkatx.types import Records
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    NULL_UUID,
    RECORDS,
    STRING,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class FetchPartition(Struct):
    """The offset to read a partition from, and the maximum size."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, since=9, default=-1)
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, since=12, default=-1)
    log_start_offset: int = field(INT64, since=5, default=-1)
    partition_max_bytes: int = field(INT32)
    replica_directory_id: uuid.UUID = field(UUID, since=17, tag=0, default=NULL_UUID)


class FetchTopic(Struct):
    """The partitions of one topic."""

    topic: str = field(STRING, until=12)
    topic_id: uuid.UUID = field(UUID, since=13, default=NULL_UUID)
    partitions: list[FetchPartition] = field(array(FetchPartition))


class ForgottenTopic(Struct):
    """Partitions to remove from a session."""

    topic: str = field(STRING, until=12)
    topic_id: uuid.UUID = field(UUID, since=13, default=NULL_UUID)
    partitions: list[int] = field(array(INT32))


class ReplicaState(Struct):
    """The fetching follower; a consumer sends none."""

    replica_id: int = field(INT32, default=-1)
    replica_epoch: int = field(INT64, default=-1)


class FetchRequest(Message, key=1, versions=(0, 17), flexible=12):
    """Read records; the broker waits up to ``max_wait_ms`` for ``min_bytes``."""

    cluster_id: str | None = field(nullable(STRING), since=12, tag=0)
    replica_id: int = field(INT32, until=14, default=-1)
    replica_state: ReplicaState | None = field(ReplicaState, since=15, tag=1)
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, since=3, default=0x7FFFFFFF)
    isolation_level: int = field(INT8, since=4)
    session_id: int = field(INT32, since=7)
    session_epoch: int = field(INT32, since=7, default=-1)
    topics: list[FetchTopic] = field(array(FetchTopic))
    forgotten_topics_data: list[ForgottenTopic] = field(array(ForgottenTopic), since=7)
    rack_id: str = field(STRING, since=11)


class EpochEndOffset(Struct):
    """The point where a follower's log diverges from its leader's."""

    epoch: int = field(INT32, default=-1)
    end_offset: int = field(INT64, default=-1)


class SnapshotId(Struct):
    """The snapshot to fetch instead."""

    end_offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)


class AbortedTransaction(Struct):
    """A producer and the offset from which its records must be skipped."""

    producer_id: int = field(INT64)
    first_offset: int = field(INT64)


class PartitionData(Struct):
    """One partition's records, or its error."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, since=4, default=-1)
    log_start_offset: int = field(INT64, since=5, default=-1)
    diverging_epoch: EpochEndOffset | None = field(EpochEndOffset, since=12, tag=0)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, since=12, tag=1)
    snapshot_id: SnapshotId | None = field(SnapshotId, since=12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = field(
        nullable(array(AbortedTransaction)), since=4
    )
    preferred_read_replica: int = field(INT32, since=11, default=-1)
    records: Records | None = field(nullable(RECORDS))


class FetchableTopicResponse(Struct):
    """The partitions of one topic."""

    topic: str = field(STRING, until=12)
    topic_id: uuid.UUID = field(UUID, since=13, default=NULL_UUID)
    partitions: list[PartitionData] = field(array(PartitionData))


class FetchResponse(Message, key=1, versions=(0, 17), flexible=12):
    """The records; those of each partition are the log's bytes."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16, since=7)
    session_id: int = field(INT32, since=7)
    responses: list[FetchableTopicResponse] = field(array(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(array(NodeEndpoint), since=16, tag=0)
