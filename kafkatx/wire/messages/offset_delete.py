"""OffsetDelete (key 47), version 0: delete committed offsets of a group (KIP-496). It is never flexible."""

from __future__ import annotations

from kafkatx.wire.schema import (
    INT16,
    INT32,
    NEVER_FLEXIBLE,
    STRING,
    Message,
    Struct,
    array,
    field,
)


class OffsetDeleteRequestPartition(Struct):
    """One partition."""

    partition_index: int = field(INT32)


class OffsetDeleteRequestTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[OffsetDeleteRequestPartition] = field(array(OffsetDeleteRequestPartition))


class OffsetDeleteRequest(Message, key=47, versions=(0, 0), flexible=NEVER_FLEXIBLE):
    """Forget offsets of a group."""

    group_id: str = field(STRING)
    topics: list[OffsetDeleteRequestTopic] = field(array(OffsetDeleteRequestTopic))


class OffsetDeleteResponsePartition(Struct):
    """The result for one offset."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class OffsetDeleteResponseTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[OffsetDeleteResponsePartition] = field(array(OffsetDeleteResponsePartition))


class OffsetDeleteResponse(Message, key=47, versions=(0, 0), flexible=NEVER_FLEXIBLE):
    """The results."""

    error_code: int = field(INT16)
    throttle_time_ms: int = field(INT32)
    topics: list[OffsetDeleteResponseTopic] = field(array(OffsetDeleteResponseTopic))
