"""OffsetForLeaderEpoch (key 23), versions 0-4: the end offset of a leader epoch (KIP-101, KIP-320).

*   1 returns the epoch, 2 adds the client's epoch and the throttle time, 3 the replica id; 4 is flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, INT32, INT64, STRING, Message, Struct, array, field


class OffsetForLeaderPartition(Struct):
    """A partition and the requested epoch."""

    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, since=2, default=-1)
    leader_epoch: int = field(INT32)


class OffsetForLeaderTopic(Struct):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[OffsetForLeaderPartition] = field(array(OffsetForLeaderPartition))


class OffsetForLeaderEpochRequest(Message, key=23, versions=(0, 4), flexible=4):
    """Request the ends of epochs. ``replica_id``: -1 a consumer, -2 a debugging consumer."""

    replica_id: int = field(INT32, since=3, default=-2)
    topics: list[OffsetForLeaderTopic] = field(array(OffsetForLeaderTopic))


class EpochEndOffset(Struct):
    """The largest epoch not above the requested one, and its end offset (exclusive)."""

    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, since=1, default=-1)
    end_offset: int = field(INT64, default=-1)


class OffsetForLeaderTopicResult(Struct):
    """The partitions of one topic."""

    topic: str = field(STRING)
    partitions: list[EpochEndOffset] = field(array(EpochEndOffset))


class OffsetForLeaderEpochResponse(Message, key=23, versions=(0, 4), flexible=4):
    """The ends of the epochs."""

    throttle_time_ms: int = field(INT32, since=2)
    topics: list[OffsetForLeaderTopicResult] = field(array(OffsetForLeaderTopicResult))
