"""The leader's part of a rebalance: it reads all subscriptions and assigns the partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from kafkatx.clientcore.group.assignors import Assignor, Member
from kafkatx.clientcore.group.assignors.validation import validate_assignment
from kafkatx.errors import KafkaTXError, ProtocolViolation
from kafkatx.group.protocol import encode_assignment, parse_subscription
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.join_group import JoinGroupResponseMember
from kafkatx.wire.messages.sync_group import SyncGroupRequestAssignment

ASSIGNMENT_VERSION = 1
"""Understood by every client; versions 2 and 3 of assignments have no more fields."""


@attrs.define
class GroupLeader:
    """The leader's view of one generation of its group.

    :ivar members: by member id; a member with a malformed subscription subscribes to nothing.
    :ivar unreadable: ids of members with malformed subscriptions.
    :ivar skip_assignment: the group keeps its assignment (KIP-814).
    :ivar counts: partition counts of the topics at the assignment; None before it.
    :ivar changed_while_away: the group keeps an assignment that this member made with other counts.
    """

    assignor: Assignor
    members: dict[str, Member]
    unreadable: list[str]
    skip_assignment: bool
    counts: Mapping[str, int] | None = None
    changed_while_away: bool = False

    @classmethod
    def of(cls, assignor: Assignor, joined: Iterable[JoinGroupResponseMember], skip: bool) -> GroupLeader:
        """Read the members of a JoinGroup response."""
        members: dict[str, Member] = {}
        unreadable: list[str] = []
        for each in joined:
            member = _read(each)
            members[each.member_id] = member or Member(each.member_id, frozenset(), each.group_instance_id)
            if member is None:
                unreadable.append(each.member_id)
        return cls(assignor, members, unreadable, skip)

    @property
    def topics(self) -> frozenset[str]:
        """All topics that members subscribe to."""
        return frozenset(topic for member in self.members.values() for topic in member.topics)

    def assign(self, counts: Mapping[str, int]) -> list[SyncGroupRequestAssignment]:
        """Return the members' assignments, given partition counts; none if the group keeps its own.

        :raises KafkaTXError: the assignor failed, or its assignment is invalid.
        """
        self.counts = self.group_counts(counts)
        if self.skip_assignment:
            return []
        try:
            assigned = self.assignor.assign(self.members, self.counts)
            assignments = {member_id: list(partitions) for member_id, partitions in assigned.items()}
            validate_assignment(self.assignor, self.members, self.counts, assignments)
        except KafkaTXError:
            raise
        except Exception as error:  # assignors may be third-party code
            raise KafkaTXError(f"the assignor {self.assignor.name} failed: {error!r}") from error
        return [
            SyncGroupRequestAssignment(member_id, _encoded(assignments.get(member_id, ())))
            for member_id in self.members
        ]

    def outdated(self, counts: Mapping[str, int]) -> bool:
        """Return True if partition counts have changed since the assignment."""
        return self.counts is not None and self.group_counts(counts) != self.counts

    def group_counts(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the partition counts of the group's topics, without topics that do not exist."""
        return {topic: counts[topic] for topic in sorted(self.topics) if counts.get(topic)}


def _read(joined: JoinGroupResponseMember) -> Member | None:
    try:
        subscription = parse_subscription(bytes(joined.metadata))
    except ProtocolViolation:
        return None
    return Member(
        joined.member_id,
        frozenset(subscription.topics),
        joined.group_instance_id,
        tuple(
            TopicPartition(t.topic, number) for t in subscription.owned_partitions for number in t.partitions
        ),
        subscription.generation_id,
        bytes(subscription.user_data or b""),
    )


def _encoded(partitions: Iterable[TopicPartition]) -> bytes:
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        topics[topic].append(number)
    return encode_assignment(topics.items(), ASSIGNMENT_VERSION)
