"""What the leader of a group does: it reads what all members want, and shares the partitions out."""

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
"""What every client understands; 2 and 3 of assignments say no more."""


@attrs.define
class GroupLeader:
    """The leader's view of its group, of one generation on.

    :ivar members: by member id; one whose subscription cannot be read wants nothing.
    :ivar unreadable: the ids of such.
    :ivar skip_assignment: the group goes on with the assignment that it has (KIP-814).
    :ivar counts: how many partitions the topics had when they were shared out; None: that is yet to come.
    """

    assignor: Assignor
    members: dict[str, Member]
    unreadable: list[str]
    skip_assignment: bool
    counts: Mapping[str, int] | None = None

    @classmethod
    def of(cls, assignor: Assignor, joined: Iterable[JoinGroupResponseMember], skip: bool) -> GroupLeader:
        """Read the members of a JoinGroup response."""
        members: dict[str, Member] = {}
        unreadable: list[str] = []
        for one in joined:
            member = _read(one)
            members[one.member_id] = member or Member(one.member_id, frozenset(), one.group_instance_id)
            if member is None:
                unreadable.append(one.member_id)
        return cls(assignor, members, unreadable, skip)

    @property
    def topics(self) -> frozenset[str]:
        """All topics that somebody wants."""
        return frozenset(topic for member in self.members.values() for topic in member.topics)

    def assign(self, counts: Mapping[str, int]) -> list[SyncGroupRequestAssignment]:
        """Share out the partitions of topics that have so many; nothing where the group keeps what it has.

        :raises KafkaTXError: the assignor failed, or gave what cannot be given.
        """
        self.counts = self.group_counts(counts)
        if self.skip_assignment:
            return []
        try:
            assigned = self.assignor.assign(self.members, self.counts)
            given = {member_id: list(partitions) for member_id, partitions in assigned.items()}
            validate_assignment(self.assignor, self.members, self.counts, given)
        except KafkaTXError:
            raise
        except Exception as error:  # whatever: assignors may be somebody else's
            raise KafkaTXError(f"the assignor {self.assignor.name} failed: {error!r}") from error
        return [
            SyncGroupRequestAssignment(member_id, _encoded(given.get(member_id, ())))
            for member_id in self.members
        ]

    def outdated(self, counts: Mapping[str, int]) -> bool:
        """Whether topics have other partitions now than when they were shared out."""
        return self.counts is not None and self.group_counts(counts) != self.counts

    def group_counts(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Of the topics of the group, those that have partitions."""
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
