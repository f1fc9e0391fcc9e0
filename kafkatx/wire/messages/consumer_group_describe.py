"""ConsumerGroupDescribe (key 69), versions 0-1: consumer groups (KIP-848), with the members' assignments.

*   1 adds the protocol of each member (KIP-1099).
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


class ConsumerGroupDescribeRequest(Message, key=69, versions=(0, 1), flexible=0):
    """Ask for groups by their ids."""

    group_ids: list[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOLEAN)


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: uuid.UUID = field(UUID, default=NULL_UUID)
    topic_name: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class Assignment(Struct):
    """Partitions of a member."""

    topic_partitions: list[TopicPartitions] = field(array(TopicPartitions))


UNKNOWN_MEMBER, CLASSIC_MEMBER, CONSUMER_MEMBER = -1, 0, 1
"""The values of ``member_type``: the protocol of a member."""


class Member(Struct):
    """A member of a group."""

    member_id: str = field(STRING)
    instance_id: str | None = field(nullable(STRING))
    rack_id: str | None = field(nullable(STRING))
    member_epoch: int = field(INT32)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(array(STRING))
    subscribed_topic_regex: str | None = field(nullable(STRING))
    assignment: Assignment = field(Assignment)
    target_assignment: Assignment = field(Assignment)
    member_type: int = field(INT8, since=1, default=UNKNOWN_MEMBER)


class DescribedGroup(Struct):
    """A group, or its error."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    group_epoch: int = field(INT32)
    assignment_epoch: int = field(INT32)
    assignor_name: str = field(STRING)
    members: list[Member] = field(array(Member))
    authorized_operations: int = field(INT32, default=-(2**31))


class ConsumerGroupDescribeResponse(Message, key=69, versions=(0, 1), flexible=0):
    """The groups."""

    throttle_time_ms: int = field(INT32)
    groups: list[DescribedGroup] = field(array(DescribedGroup))
