"""The schemas of a consumer group's records, as in Apache Kafka 4.0.

They are ``ConsumerGroup*Key.json`` and ``ConsumerGroup*Value.json``: keys are not flexible, values have
version 0.
"""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import (
    BYTES,
    INT8,
    INT32,
    INT64,
    NEVER_FLEXIBLE,
    NULL_UUID,
    STRING,
    UUID,
    Message,
    Struct,
    array,
    field,
    nullable,
)

NOT_AN_API = -1


class GroupKey(Message, key=NOT_AN_API, versions=(3, 16), flexible=NEVER_FLEXIBLE):
    """Key of a record of a group."""

    group_id: str = field(STRING)


class NamedKey(Message, key=NOT_AN_API, versions=(3, 16), flexible=NEVER_FLEXIBLE):
    """Key of a record of a group's member or regular expression."""

    group_id: str = field(STRING)
    name: str = field(STRING)


class EpochValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The epoch of a group, or of its target assignment."""

    epoch: int = field(INT32)


class PartitionRacks(Struct):
    """Racks of replicas: read and not used, as in Apache Kafka since 4.0."""

    partition: int = field(INT32)
    racks: list[str] = field(array(STRING))


class TopicMetadata(Struct):
    """A topic that members subscribe to."""

    topic_id: uuid.UUID = field(UUID, default=NULL_UUID)
    topic_name: str = field(STRING)
    num_partitions: int = field(INT32)
    partition_metadata: list[PartitionRacks] = field(array(PartitionRacks))


class TopicsValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The subscribed topics at the last assignment."""

    topics: list[TopicMetadata] = field(array(TopicMetadata))


class ClassicProtocol(Struct):
    """A protocol that a member of the classic protocol offers."""

    name: str = field(STRING)
    metadata: bytes = field(BYTES)


class ClassicValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """Additional metadata of a classic member."""

    session_timeout_ms: int = field(INT32)
    supported_protocols: list[ClassicProtocol] = field(array(ClassicProtocol))


class MemberValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The metadata of a member; :class:`ClassicValue` follows it, see ``records``."""

    instance_id: str | None = field(nullable(STRING))
    rack_id: str | None = field(nullable(STRING))
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(array(STRING))
    subscribed_topic_regex: str | None = field(nullable(STRING))
    rebalance_timeout_ms: int = field(INT32, default=-1)
    server_assignor: str | None = field(nullable(STRING))


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: uuid.UUID = field(UUID, default=NULL_UUID)
    partitions: list[int] = field(array(INT32))


class TargetValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The target assignment of a member."""

    topic_partitions: list[TopicPartitions] = field(array(TopicPartitions))


class CurrentValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The current assignment of a member."""

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[TopicPartitions] = field(array(TopicPartitions))
    partitions_pending_revocation: list[TopicPartitions] = field(array(TopicPartitions))


class RegexValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The topics that a regular expression matches."""

    topics: list[str] = field(array(STRING))
    version: int = field(INT64)
    timestamp: int = field(INT64)
