"""``sticky`` and ``cooperative-sticky``: balanced assignments with few moves (KIP-54, KIP-429).

Both compute the same assignment, and differ in the rebalance. ``sticky`` members revoke all partitions and
tell the leader in user data what they had. ``cooperative-sticky`` members list owned partitions in the
subscription; a partition that has another owner yet is left out at first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from kafkatx.clientcore.group.assignors.assignor import (
    NO_GENERATION,
    Assignments,
    Assignor,
    Member,
    PartitionCounts,
)
from kafkatx.clientcore.group.assignors.claims import Claim, resolve_claims
from kafkatx.clientcore.group.assignors.constrained import ConstrainedAssignment
from kafkatx.clientcore.group.assignors.general import GeneralAssignment
from kafkatx.errors import ProtocolViolation
from kafkatx.group.protocol import NOT_AN_API, TopicPartitions
from kafkatx.types import TopicPartition
from kafkatx.wire import codec
from kafkatx.wire.schema import INT32, NEVER_FLEXIBLE, Message, array, field

_INT32_BYTES = 4


class StickyUserData(Message, key=NOT_AN_API, versions=(0, 1), flexible=NEVER_FLEXIBLE):
    """A member's previous assignment, and from version 1 on its generation; the version is not encoded."""

    previous_assignment: list[TopicPartitions] = field(array(TopicPartitions))
    generation: int = field(INT32, since=1, default=NO_GENERATION)


def sticky(members: Mapping[str, Member], partitions: PartitionCounts) -> Assignments:
    """Assign according to user data."""
    assignments, _ = _assign(
        members, partitions, {m.member_id: _claim_in(m.user_data) for m in members.values()}
    )
    return assignments


def cooperative_sticky(members: Mapping[str, Member], partitions: PartitionCounts) -> Assignments:
    """Assign according to owned partitions; leave out those that another member still owns."""
    claims = {member.member_id: Claim(member.owned, _generation(member)) for member in members.values()}
    assignments, transferring = _assign(members, partitions, claims)
    for at, member in transferring.items():
        assignments[member].remove(at)
    return assignments


def _assign(
    members: Mapping[str, Member], partitions: PartitionCounts, claims: Mapping[str, Claim]
) -> tuple[Assignments, Mapping[TopicPartition, str]]:
    """Return the assignment, and those of its partitions that other members may still own."""
    wanted = {topic for member in members.values() for topic in member.topics}
    partitions = {topic: count for topic, count in partitions.items() if topic in wanted}
    resolved = resolve_claims(claims, partitions)
    if len({member.topics for member in members.values()}) == 1:
        equal = ConstrainedAssignment(resolved, partitions)
        return equal.assign(), equal.transferring
    assignments = GeneralAssignment(members, resolved, partitions).assign()
    return assignments, _transferring(members, assignments)


def _transferring(members: Mapping[str, Member], assignments: Assignments) -> dict[TopicPartition, str]:
    """Return the assigned partitions that another member owns."""
    revoked = {at for member in members.values() for at in member.owned} - {
        at for member in members.values() for at in set(member.owned) & set(assignments[member.member_id])
    }
    return {at: member for member, mine in assignments.items() for at in mine if at in revoked}


def _claim_in(user_data: bytes) -> Claim:
    """Return the claim in a member's user data; an empty one if it is malformed."""
    for version in (1, 0):
        try:
            data, _ = codec.decoder(StickyUserData, version)(user_data, 0)
        except ProtocolViolation:
            continue
        previous = tuple(
            TopicPartition(t.topic, number) for t in data.previous_assignment for number in t.partitions
        )
        return Claim(previous, data.generation)
    return Claim((), NO_GENERATION)


def _generation(member: Member) -> int:
    """Return the generation of owned partitions; before version 2 of the subscription it is in user data."""
    if member.generation != NO_GENERATION or len(member.user_data) < _INT32_BYTES:
        return member.generation
    return int.from_bytes(member.user_data[:_INT32_BYTES], "big", signed=True)


def sticky_user_data(owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
    """Return the encoded last assignment; None if there was none."""
    if owned is None:
        return None
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(owned):
        topics[topic].append(number)
    previous = [TopicPartitions(topic, numbers) for topic, numbers in topics.items()]
    return codec.encode(StickyUserData(previous, generation), 1)


def generation_user_data(owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
    """Return the encoded generation; the owned partitions are in the subscription."""
    return generation.to_bytes(_INT32_BYTES, "big", signed=True)


STICKY = Assignor("sticky", sticky, user_data=sticky_user_data)
COOPERATIVE_STICKY = Assignor(
    "cooperative-sticky", cooperative_sticky, cooperative=True, user_data=generation_user_data
)
