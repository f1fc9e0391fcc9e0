"""ConsumerGroupHeartbeat (key 68), versions 0-1: the request of a consumer group's member (KIP-848).

*   A member epoch of 0 joins, -1 leaves, -2 leaves for a while (a static member).
*   Fields that are null, or -1, have not changed since the member's last heartbeat.
*   1 adds the subscription by regular expression; from 1 on the member generates its own id.
"""

from __future__ import annotations

import uuid

from kafkatx.wire.schema import (
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


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: uuid.UUID = field(UUID, default=NULL_UUID)
    partitions: list[int] = field(array(INT32))


class ConsumerGroupHeartbeatRequest(Message, key=68, versions=(0, 1), flexible=0):
    """Join, stay in or leave a group; ``topic_partitions`` are the owned partitions."""

    group_id: str = field(STRING)
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    instance_id: str | None = field(nullable(STRING))
    rack_id: str | None = field(nullable(STRING))
    rebalance_timeout_ms: int = field(INT32, default=-1)
    subscribed_topic_names: list[str] | None = field(nullable(array(STRING)), default=None)
    subscribed_topic_regex: str | None = field(nullable(STRING), since=1)
    server_assignor: str | None = field(nullable(STRING))
    topic_partitions: list[TopicPartitions] | None = field(nullable(array(TopicPartitions)), default=None)


class Assignment(Struct):
    """The partitions that a member may consume."""

    topic_partitions: list[TopicPartitions] = field(array(TopicPartitions))


class ConsumerGroupHeartbeatResponse(Message, key=68, versions=(0, 1), flexible=0):
    """The member's epoch, and its assignment if that has changed."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    member_id: str | None = field(nullable(STRING))
    member_epoch: int = field(INT32)
    heartbeat_interval_ms: int = field(INT32)
    assignment: Assignment | None = field(nullable(Assignment), default=None)
