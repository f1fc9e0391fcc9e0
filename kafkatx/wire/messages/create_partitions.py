"""CreatePartitions (key 37), versions 0-3: add partitions to topics.

2 is flexible; 3 is as 2 (errors by quotas on changes, KIP-599).
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class CreatePartitionsAssignment(Struct):
    """The brokers of a new partition, the leader first."""

    broker_ids: list[int] = field(array(INT32))


class CreatePartitionsTopic(Struct):
    """A topic with its new number of partitions."""

    name: str = field(STRING)
    count: int = field(INT32)
    assignments: list[CreatePartitionsAssignment] | None = field(nullable(array(CreatePartitionsAssignment)))


class CreatePartitionsRequest(Message, key=37, versions=(0, 3), flexible=2):
    """Add partitions, or only validate the request."""

    topics: list[CreatePartitionsTopic] = field(array(CreatePartitionsTopic))
    timeout_ms: int = field(INT32)
    validate_only: bool = field(BOOLEAN)


class CreatePartitionsTopicResult(Struct):
    """The result for one topic."""

    name: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))


class CreatePartitionsResponse(Message, key=37, versions=(0, 3), flexible=2):
    """The results."""

    throttle_time_ms: int = field(INT32)
    results: list[CreatePartitionsTopicResult] = field(array(CreatePartitionsTopicResult))
