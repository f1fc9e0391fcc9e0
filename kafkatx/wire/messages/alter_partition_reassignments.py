"""AlterPartitionReassignments (key 45), version 0: reassign partitions to brokers (KIP-455)."""

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


class ReassignablePartition(Struct):
    """A partition with its new brokers; null cancels a reassignment."""

    partition_index: int = field(INT32)
    replicas: list[int] | None = field(nullable(array(INT32)), default=None)


class ReassignableTopic(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[ReassignablePartition] = field(array(ReassignablePartition))


class AlterPartitionReassignmentsRequest(Message, key=45, versions=(0, 0), flexible=0):
    """Start or cancel reassignments."""

    timeout_ms: int = field(INT32, default=60000)
    topics: list[ReassignableTopic] = field(array(ReassignableTopic))


class ReassignablePartitionResponse(Struct):
    """The result for one partition."""

    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))


class ReassignableTopicResponse(Struct):
    """The partitions of one topic."""

    name: str = field(STRING)
    partitions: list[ReassignablePartitionResponse] = field(array(ReassignablePartitionResponse))


class AlterPartitionReassignmentsResponse(Message, key=45, versions=(0, 0), flexible=0):
    """The results."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    responses: list[ReassignableTopicResponse] = field(array(ReassignableTopicResponse))
