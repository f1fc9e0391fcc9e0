"""Groups and their members as values, from DescribeGroups and ConsumerGroupDescribe. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from kafkatx.clientcore.errors import check
from kafkatx.errors import ErrorCode, ProtocolViolation
from kafkatx.group.protocol import parse_assignment
from kafkatx.types import BrokerNode, TopicPartition

if TYPE_CHECKING:
    from kafkatx.wire.messages import consumer_group_describe as consumer_messages
    from kafkatx.wire.messages import describe_groups as classic_messages

CLASSIC, CONSUMER = "classic", "consumer"
"""The types of groups (KIP-848): a member assigns the partitions, or the broker does."""

CONSUMER_PROTOCOL = "consumer"
"""The protocol type of consumers; the assignments of other types (``connect``) cannot be read here."""

DEAD, EMPTY = "Dead", "Empty"


@attrs.frozen
class Member:
    """One member and its assigned partitions; ``epoch`` is -1 in a classic group."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...] = ()
    epoch: int = -1


@attrs.frozen
class GroupDescription:
    """A group. The state of one that does not exist is ``Dead``, as in Kafka; it may have committed offsets.

    :ivar type: ``classic`` or ``consumer``.
    :ivar assignor: ``range``, ``uniform``, ...; empty while it is not chosen.
    :ivar epoch: the group epoch; -1 for a classic group, whose generation brokers do not tell.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: BrokerNode
    members: tuple[Member, ...] = ()
    epoch: int = -1


def from_classic(group: classic_messages.DescribedGroup, coordinator: BrokerNode) -> GroupDescription:
    """Convert a group of DescribeGroups.

    From version 6 on a group that does not exist is an error (KIP-1043); here it is ``Dead`` as before.

    :raises RequestError: the group's error.
    """
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return GroupDescription(group.group_id, CLASSIC, DEAD, "", "", coordinator)
    check(group.error_code, f"group {group.group_id!r}")
    readable = group.protocol_type in (CONSUMER_PROTOCOL, "")
    members = tuple(
        Member(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            assigned_partitions(member.member_assignment) if readable else (),
        )
        for member in group.members
    )
    return GroupDescription(
        group.group_id,
        CLASSIC,
        group.group_state,
        group.protocol_type,
        group.protocol_data,
        coordinator,
        members,
    )


def from_consumer(group: consumer_messages.DescribedGroup, coordinator: BrokerNode) -> GroupDescription:
    """Convert a group of ConsumerGroupDescribe.

    :raises RequestError: the group's error.
    """
    check(group.error_code, f"group {group.group_id!r}", group.error_message)
    members = tuple(
        Member(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            tuple(
                sorted(
                    TopicPartition(topic.topic_name, partition)
                    for topic in member.assignment.topic_partitions
                    for partition in topic.partitions
                )
            ),
            member.member_epoch,
        )
        for member in group.members
    )
    return GroupDescription(
        group.group_id,
        CONSUMER,
        group.group_state,
        CONSUMER_PROTOCOL,
        group.assignor_name,
        coordinator,
        members,
        group.group_epoch,
    )


def assigned_partitions(data: bytes) -> tuple[TopicPartition, ...]:
    """Return a member's partitions, in order; none if *data* is empty or not of the consumer protocol."""
    try:
        found = parse_assignment(data)
    except ProtocolViolation:
        return ()
    topics = found.assigned_partitions
    return tuple(sorted(TopicPartition(t.topic, number) for t in topics for number in t.partitions))
