"""What an assignor gave, looked through before members are told of it: it may be somebody else's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkatx.clientcore.group.assignors.assignor import Assignor, Member, PartitionCounts
from kafkatx.clientcore.group.assignors.claims import Claim, resolve_claims
from kafkatx.clientcore.group.assignors.sticky import COOPERATIVE_STICKY
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition


def validate_assignment(
    assignor: Assignor,
    members: Mapping[str, Member],
    partitions: PartitionCounts,
    given: Mapping[str, Iterable[tuple[str, int]]],
) -> None:
    """See that an assignment is one that a group can have.

    That partitions are left out is allowed. What somebody has and somebody else is given at once is not,
    where members keep their partitions meanwhile (``ConsumerCoordinator.validateCooperativeAssignment``): two
    would read it. A member whose claim is of an older generation has it no more. Ours is not checked for
    that: it finds generations in its user data, too, where older clients have them.

    :raises KafkaTXError: who is given what, and why that cannot be.
    """
    owners: dict[TopicPartition, str] = {}
    for member_id, places in given.items():
        for place in places:
            at = TopicPartition(*place)
            why = _refused(member_id, at, members, partitions, owners)
            if why:
                raise _wrong(assignor, member_id, at, why)
            owners[at] = member_id
    if not assignor.cooperative or assignor is COOPERATIVE_STICKY:
        return
    claims = {member.member_id: Claim(member.owned, member.generation) for member in members.values()}
    for owner, held in resolve_claims(claims, partitions).held.items():
        for at in held:
            if owners.get(at, owner) != owner:
                why = f"{owner} still has it, and has to give it up before: leave it out this time"
                raise _wrong(assignor, owners[at], at, why)


def _refused(
    member_id: str,
    at: TopicPartition,
    members: Mapping[str, Member],
    partitions: PartitionCounts,
    owners: Mapping[TopicPartition, str],
) -> str:
    """Why a member cannot have a partition; empty if it can."""
    if member_id not in members:
        return "who is no member"
    if at.topic not in members[member_id].topics:
        return "who does not subscribe to the topic"
    if at.partition not in range(partitions.get(at.topic, 0)):
        return f"but the topic has {partitions.get(at.topic, 0)} partitions"
    return f"and to {owners[at]}" if at in owners else ""


def _wrong(assignor: Assignor, member_id: str, at: TopicPartition, why: str) -> KafkaTXError:
    where = f"{at.topic} [{at.partition}]"
    return KafkaTXError(f"the assignor {assignor.name} is wrong: it gives {where} to {member_id}, {why}")
