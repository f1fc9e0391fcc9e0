"""ListOffsets (key 2), versions 0-11: find offsets by timestamp.

*   0 returns a list of offsets, one per segment, newest first (``max_num_offsets``,
    ``old_style_offsets``); from 1 on there is one offset with its timestamp.
*   2 adds the isolation level and the throttle time, 4 leader epochs; 6 is flexible; 7 has the
    timestamp -3 (KIP-734).
*   8 has -4 (KIP-405), 9 -5 (KIP-1005), 10 a time limit for remote storage (KIP-1075), 11 -6 (KIP-1023).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT8, INT16, INT32, INT64, STRING, Message, Struct, array, field

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


class ListOffsetsPartition(Struct):
    """The requested timestamp in ms; -1 the log end, -2 the log start, -3 the largest timestamp."""

    partition_index: int = field(INT32)
    current_leader_epoch: int = field(INT32, since=4, default=-1)
    timestamp: int = field(INT64)
    max_num_offsets: int = field(INT32, until=0, default=1)


class ListOffsetsTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[ListOffsetsPartition] = field(array(ListOffsetsPartition))


class ListOffsetsRequest(Message, key=2, versions=(0, 11), flexible=6):
    """Request offsets by timestamp. ``replica_id`` is -1 for a consumer."""

    replica_id: int = field(INT32)
    isolation_level: int = field(INT8, since=2)
    topics: list[ListOffsetsTopic] = field(array(ListOffsetsTopic))
    timeout_ms: int = field(INT32, since=10)


class ListOffsetsPartitionResponse(Struct):
    """One partition's offset, or -1 if no record has that timestamp or a later one."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    old_style_offsets: list[int] = field(array(INT64), until=0)
    timestamp: int = field(INT64, since=1, default=-1)
    offset: int = field(INT64, since=1, default=-1)
    leader_epoch: int = field(INT32, since=4, default=-1)


class ListOffsetsTopicResponse(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[ListOffsetsPartitionResponse] = field(array(ListOffsetsPartitionResponse))


class ListOffsetsResponse(Message, key=2, versions=(0, 11), flexible=6):
    """The offsets."""

    throttle_time_ms: int = field(INT32, since=2)
    topics: list[ListOffsetsTopicResponse] = field(array(ListOffsetsTopicResponse))
