"""A group as its coordinator describes it, and its committed offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafkatx.broker.console.errors import ConsoleError, check_code
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.group.protocol import PROTOCOL_TYPE, parse_assignment
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.web.calls import Call
from kafkatx.wire.messages import consumer_group_describe, describe_groups
from kafkatx.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkatx.wire.messages.describe_groups import DescribeGroupsRequest
from kafkatx.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

CLASSIC, CONSUMER = "classic", "consumer"
DEAD = "Dead"

Offsets = dict[TopicPartition, tuple[int, str | None]]
"""Committed offsets with their metadata."""


def coordinator_of(parts: ConsoleParts, group_id: str) -> BrokerNode:
    """Return the coordinator of a group.

    :raises ConsoleError: there are no groups at all.
    :raises RequestError: COORDINATOR_NOT_AVAILABLE.
    """
    if not parts.broker.groups.topic.exists:
        raise _unknown(group_id)
    return parts.broker.groups.topic.leader_of(group_id)


class GroupDetails:
    """Describes one group.

    :ivar node: its coordinator.
    """

    def __init__(self, parts: ConsoleParts, call: Call, group_id: str) -> None:
        self._parts = parts
        self._call = call
        self._group_id = group_id
        self.node = coordinator_of(parts, group_id)

    async def describe(self) -> dict[str, Any]:
        """Return the description; ``members`` has the assignments.

        :raises ConsoleError: there is no such group, or the user may not see it.
        """
        return await self._consumer() or await self._classic()

    async def _consumer(self) -> dict[str, Any] | None:
        """Return the description of a group of KIP-848; None if it is none."""
        asked = ConsumerGroupDescribeRequest([self._group_id])
        (group,) = (await self._parts.kafka.ask(self._call, asked, self.node)).groups
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            return None
        check_code(group.error_code, group.error_message, f"group {self._group_id[:300]}")
        members = [_member(one, one.instance_id, _of_consumer(one.assignment)) for one in group.members]
        return self._described(CONSUMER, group.group_state, group.assignor_name, members)

    async def _classic(self) -> dict[str, Any]:
        asked = DescribeGroupsRequest([self._group_id])
        (group,) = (await self._parts.kafka.ask(self._call, asked, self.node)).groups
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND or group.group_state == DEAD:
            if not await offsets_of(self._parts, self._call, self._group_id, self.node):
                raise _unknown(self._group_id)
            return self._described(CLASSIC, "Empty", "", [])
        check_code(group.error_code, group.error_message, f"group {self._group_id[:300]}")
        members = [
            _member(one, one.group_instance_id, _of_classic(group.protocol_type, one))
            for one in group.members
        ]
        return self._described(CLASSIC, group.group_state, group.protocol_data, members)

    def _described(
        self, protocol: str, state: str, assignor: str, members: list[dict[str, Any]]
    ) -> dict[str, Any]:
        return {
            "id": self._group_id,
            "protocol": protocol,
            "state": state,
            "coordinator": self.node.id,
            "assignor": assignor,
            "members": members,
        }


async def offsets_of(parts: ConsoleParts, call: Call, group_id: str, node: BrokerNode) -> Offsets:
    """Return the committed offsets of a group in topics that the user may describe.

    :raises RequestError: the user may not see the group, or the coordinator cannot tell now.
    """
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id, None, topics=None)])
    (group,) = (await parts.kafka.ask(call, asked, node)).groups
    if group.error_code:
        raise RequestError(ErrorCode.of(group.error_code))
    return {
        TopicPartition(topic.name, each.partition_index): (each.committed_offset, each.metadata)
        for topic in group.topics
        for each in topic.partitions
        if not each.error_code and each.committed_offset >= 0
    }


def _member(
    member: consumer_group_describe.Member | describe_groups.DescribedGroupMember,
    instance_id: str | None,
    assignments: Iterable[tuple[str, list[int]]],
) -> dict[str, Any]:
    return {
        "memberId": member.member_id,
        "instanceId": instance_id,
        "clientId": member.client_id,
        "host": member.client_host,
        "assignments": [{"topic": topic, "partitions": numbers} for topic, numbers in assignments],
    }


def _of_consumer(assignment: consumer_group_describe.Assignment) -> Iterator[tuple[str, list[int]]]:
    for topic in assignment.topic_partitions:
        yield topic.topic_name, list(topic.partitions)


def _of_classic(
    protocol_type: str, member: describe_groups.DescribedGroupMember
) -> Iterator[tuple[str, list[int]]]:
    """Yield the partitions of a member; other protocols than consumers' have bytes of their own."""
    if protocol_type != PROTOCOL_TYPE or not member.member_assignment:
        return
    try:
        assignment = parse_assignment(bytes(member.member_assignment))
    except ProtocolViolation:
        return
    for topic in assignment.assigned_partitions:
        yield topic.topic, list(topic.partitions)


def _unknown(group_id: str) -> ConsoleError:
    return ConsoleError(404, "GROUP_ID_NOT_FOUND", f"there is no group {group_id[:300]!r}")
