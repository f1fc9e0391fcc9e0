"""ListPartitionReassignments (key 46), version 0: the ongoing reassignments (KIP-455)."""

from __future__ import annotations

from kafkatx.wire.schema import (
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class ListPartitionReassignmentsTopics(Struct):
    """Partitions of one topic."""

    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


class ListPartitionReassignmentsRequest(Message, key=46, versions=(0, 0), flexible=0):
    """Request reassignments; null topics means all."""

    timeout_ms: int = field(INT32, default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(
        nullable(array(ListPartitionReassignmentsTopics)), default=None
    )


class OngoingPartitionReassignment(Struct):
    """A partition that is being reassigned."""

    partition_index: int = field(INT32)
    replicas: list[int] = field(array(INT32))
    adding_replicas: list[int] = field(array(INT32))
    removing_replicas: list[int] = field(array(INT32))


class OngoingTopicReassignment(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[OngoingPartitionReassignment] = field(array(OngoingPartitionReassignment))


class ListPartitionReassignmentsResponse(Message, key=46, versions=(0, 0), flexible=0):
    """The reassignments."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    topics: list[OngoingTopicReassignment] = field(array(OngoingTopicReassignment))
