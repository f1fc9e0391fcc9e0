"""The messages of the records of a group of KIP-848, as Apache Kafka 4.0 has them.

``ConsumerGroup*Key.json`` and ``ConsumerGroup*Value.json``: keys are not flexible, values are in version 0.
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
    """Of which group a record is."""

    group_id: str = field(STRING)


class NamedKey(Message, key=NOT_AN_API, versions=(3, 16), flexible=NEVER_FLEXIBLE):
    """Of which group, and of which of its members or regular expressions, a record is."""

    group_id: str = field(STRING)
    name: str = field(STRING)


class EpochValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The epoch of a group, or of its target assignment."""

    epoch: int = field(INT32)


class PartitionRacks(Struct):
    """Where replicas are: read and not used, as in Apache Kafka since 4.0."""

    partition: int = field(INT32)
    racks: list[str] = field(array(STRING))


class TopicMetadata(Struct):
    """A topic that members subscribe to."""

    topic_id: uuid.UUID = field(UUID, default=NULL_UUID)
    topic_name: str = field(STRING)
    num_partitions: int = field(INT32)
    partition_metadata: list[PartitionRacks] = field(array(PartitionRacks))


class TopicsValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The topics that members subscribe to, as they were at the last assignment."""

    topics: list[TopicMetadata] = field(array(TopicMetadata))


class ClassicProtocol(Struct):
    """A protocol that a member of the classic protocol offers."""

    name: str = field(STRING)
    metadata: bytes = field(BYTES)


class ClassicValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """What a member of the classic protocol has besides."""

    session_timeout_ms: int = field(INT32)
    supported_protocols: list[ClassicProtocol] = field(array(ClassicProtocol))


class MemberValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """Who a member is and what it wants; behind it :class:`ClassicValue`, see ``records``."""

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
    """What a member shall have."""

    topic_partitions: list[TopicPartitions] = field(array(TopicPartitions))


class CurrentValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """What a member has."""

    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)
    assigned_partitions: list[TopicPartitions] = field(array(TopicPartitions))
    partitions_pending_revocation: list[TopicPartitions] = field(array(TopicPartitions))


class RegexValue(Message, key=NOT_AN_API, versions=(0, 0), flexible=0):
    """The topics that a regular expression stands for."""

    topics: list[str] = field(array(STRING))
    version: int = field(INT64)
    timestamp: int = field(INT64)
