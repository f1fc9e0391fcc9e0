"""OffsetCommit (key 8), versions 0-9: store the committed offsets of a group.

*   0 has neither member nor generation; 1 adds them and a timestamp for each offset, which 2 replaces by one
    retention time for all; 5 removes that.
*   3 adds the throttle time, 6 leader epochs, 7 the instance id of static members (KIP-345).
*   8 is flexible; 9 has a member epoch in place of the generation (KIP-848).
"""

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


class OffsetCommitRequestPartition(Struct):
    """The offset to read next, and metadata that is returned with it."""

    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, since=6, default=-1)
    commit_timestamp: int = field(INT64, since=1, until=1, default=-1)
    committed_metadata: str | None = field(nullable(STRING))


class OffsetCommitRequestTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[OffsetCommitRequestPartition] = field(array(OffsetCommitRequestPartition))


class OffsetCommitRequest(Message, key=8, versions=(0, 9), flexible=8):
    """Commit offsets; a generation of -1 without a member is a commit without membership."""

    group_id: str = field(STRING)
    generation_id_or_member_epoch: int = field(INT32, since=1, default=-1)
    member_id: str = field(STRING, since=1)
    group_instance_id: str | None = field(nullable(STRING), since=7)
    retention_time_ms: int = field(INT64, since=2, until=4, default=-1)
    topics: list[OffsetCommitRequestTopic] = field(array(OffsetCommitRequestTopic))


class OffsetCommitResponsePartition(Struct):
    """The result for one offset."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class OffsetCommitResponseTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[OffsetCommitResponsePartition] = field(array(OffsetCommitResponsePartition))


class OffsetCommitResponse(Message, key=8, versions=(0, 9), flexible=8):
    """The results."""

    throttle_time_ms: int = field(INT32, since=3)
    topics: list[OffsetCommitResponseTopic] = field(array(OffsetCommitResponseTopic))
