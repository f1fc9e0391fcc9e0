"""The members of a group of either protocol, and the partitions that each has. Pure."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.explanations.facts import MemberFacts
from kafkatx.errors import ProtocolViolation
from kafkatx.group.actions import Group
from kafkatx.group.protocol import parse_assignment
from kafkatx.types import TopicPartition

CLASSIC = "classic"


def members_of(group: Group | None) -> tuple[tuple[MemberFacts, ...], dict[TopicPartition, str]]:
    """Return the members, and the client id of the member that has each partition."""
    members: list[MemberFacts] = []
    owners: dict[TopicPartition, str] = {}
    if group is not None:
        for member, partitions in _classic(group) if group.kind == CLASSIC else _consumer(group):
            client_id, host = member.client_id, member.client_host
            members.append(MemberFacts(member.member_id, client_id, host, len(partitions)))
            owners.update(dict.fromkeys(partitions, client_id))
    return tuple(members), owners


def _classic(group: Any) -> list[tuple[Any, list[TopicPartition]]]:
    found = []
    for member in group.describe().members:
        try:
            assigned = parse_assignment(member.member_assignment).assigned_partitions
        except ProtocolViolation:  # none yet, or of another protocol than consumers'
            assigned = []
        found.append((member, [TopicPartition(one.topic, n) for one in assigned for n in one.partitions]))
    return found


def _consumer(group: Any) -> list[tuple[Any, list[TopicPartition]]]:
    return [
        (
            member,
            [
                TopicPartition(one.topic_name, number)
                for one in member.assignment.topic_partitions
                for number in one.partitions
            ],
        )
        for member in group.consumer_describe().members
    ]
