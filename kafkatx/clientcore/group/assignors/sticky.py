"""``sticky`` and ``cooperative-sticky``: as even as can be, and few partitions move (KIP-54, KIP-429).

Both come to the same; they differ in how members rebalance. ``sticky`` tells the leader in its user data what
a member had before it gave all up. ``cooperative-sticky`` finds that among the owned partitions of its
subscription; what has an owner yet and is to have another is given to nobody this time.
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
    """What a member had, and from version 1 on in which generation; the version is not written."""

    previous_assignment: list[TopicPartitions] = field(array(TopicPartitions))
    generation: int = field(INT32, since=1, default=NO_GENERATION)


def sticky(members: Mapping[str, Member], partitions: PartitionCounts) -> Assignments:
    """Assign after what the user data say."""
    given, _ = _assign(members, partitions, {m.member_id: _told(m.user_data) for m in members.values()})
    return given


def cooperative_sticky(members: Mapping[str, Member], partitions: PartitionCounts) -> Assignments:
    """Assign after what members own; of what is to move nobody is given anything yet."""
    claims = {member.member_id: Claim(member.owned, _generation(member)) for member in members.values()}
    given, transferring = _assign(members, partitions, claims)
    for at, member in transferring.items():
        given[member].remove(at)
    return given


def _assign(
    members: Mapping[str, Member], partitions: PartitionCounts, claims: Mapping[str, Claim]
) -> tuple[Assignments, Mapping[TopicPartition, str]]:
    """The assignment, and what of it other members may still have."""
    wanted = {topic for member in members.values() for topic in member.topics}
    partitions = {topic: count for topic, count in partitions.items() if topic in wanted}
    settled = resolve_claims(claims, partitions)
    if len({member.topics for member in members.values()}) == 1:
        equal = ConstrainedAssignment(settled, partitions)
        return equal.assign(), equal.transferring
    given = GeneralAssignment(members, settled, partitions).assign()
    return given, _transferring(members, given)


def _transferring(members: Mapping[str, Member], given: Assignments) -> dict[TopicPartition, str]:
    """What somebody owns and somebody else is given."""
    revoked = {at for member in members.values() for at in member.owned} - {
        at for member in members.values() for at in set(member.owned) & set(given[member.member_id])
    }
    return {at: member for member, mine in given.items() for at in mine if at in revoked}


def _told(user_data: bytes) -> Claim:
    """What a member had, as its user data say; what cannot be read says nothing."""
    for version in (1, 0):
        try:
            told, _ = codec.decoder(StickyUserData, version)(user_data, 0)
        except ProtocolViolation:
            continue
        had = tuple(
            TopicPartition(t.topic, number) for t in told.previous_assignment for number in t.partitions
        )
        return Claim(had, told.generation)
    return Claim((), NO_GENERATION)


def _generation(member: Member) -> int:
    """In which generation it got what it owns: before version 2 of the subscription its user data say so."""
    if member.generation != NO_GENERATION or len(member.user_data) < _INT32_BYTES:
        return member.generation
    return int.from_bytes(member.user_data[:_INT32_BYTES], "big", signed=True)


def sticky_user_data(owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
    """The last assignment, for the leader; None: there was none."""
    if owned is None:
        return None
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, number in sorted(owned):
        topics[topic].append(number)
    previous = [TopicPartitions(topic, numbers) for topic, numbers in topics.items()]
    return codec.encode(StickyUserData(previous, generation), 1)


def generation_user_data(owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
    """The generation: the owned partitions are in the subscription."""
    return generation.to_bytes(_INT32_BYTES, "big", signed=True)


STICKY = Assignor("sticky", sticky, user_data=sticky_user_data)
COOPERATIVE_STICKY = Assignor(
    "cooperative-sticky", cooperative_sticky, cooperative=True, user_data=generation_user_data
)
