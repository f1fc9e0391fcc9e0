"""CreateTopics (key 19), versions 0-7.

*   1 adds validation without creation and error messages, 2 the throttle time.
*   From 4 on -1 partitions or replicas means the broker's defaults (KIP-464).
*   5 is flexible and returns the topic's properties (KIP-525); 7 returns the topic's id.
"""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import (
    BOOLEAN,
    INT8,
    INT16,
    INT32,
    NULL_UUID,
    STRING,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class CreatableReplicaAssignment(Struct):
    """The brokers of a partition, the leader first."""

    partition_index: int = field(INT32)
    broker_ids: list[int] = field(array(INT32))


class CreatableTopicConfig(Struct):
    """A config of the new topic."""

    name: str = field(STRING)
    value: str | None = field(nullable(STRING))


class CreatableTopic(Struct):
    """A topic to create; with assignments, the two numbers are -1."""

    name: str = field(STRING)
    num_partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    assignments: list[CreatableReplicaAssignment] = field(array(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = field(array(CreatableTopicConfig))


class CreateTopicsRequest(Message, key=19, versions=(0, 7), flexible=5):
    """Create topics, or only validate the request."""

    topics: list[CreatableTopic] = field(array(CreatableTopic))
    timeout_ms: int = field(INT32, default=60000)
    validate_only: bool = field(BOOLEAN, since=1)


class CreatableTopicConfigs(Struct):
    """A config that the new topic has."""

    name: str = field(STRING)
    value: str | None = field(nullable(STRING))
    read_only: bool = field(BOOLEAN)
    config_source: int = field(INT8, default=-1)
    is_sensitive: bool = field(BOOLEAN)


class CreatableTopicResult(Struct):
    """The result for one topic."""

    name: str = field(STRING)
    topic_id: uuid.UUID = field(UUID, since=7, default=NULL_UUID)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING), since=1)
    topic_config_error_code: int = field(INT16, since=5, tag=0)
    num_partitions: int = field(INT32, since=5, default=-1)
    replication_factor: int = field(INT16, since=5, default=-1)
    configs: list[CreatableTopicConfigs] | None = field(nullable(array(CreatableTopicConfigs)), since=5)


class CreateTopicsResponse(Message, key=19, versions=(0, 7), flexible=5):
    """The results."""

    throttle_time_ms: int = field(INT32, since=2)
    topics: list[CreatableTopicResult] = field(array(CreatableTopicResult))
