"""Validation of assignments, before members are told of them: assignors may be third-party code."""

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
    assignments: Mapping[str, Iterable[tuple[str, int]]],
) -> None:
    """Check that an assignment is valid for the group.

    Partitions may be left out. In a cooperative rebalance a partition must not be assigned while another
    member owns it (``ConsumerCoordinator.validateCooperativeAssignment``), as both would read it. Claims of
    older generations do not count. The built-in assignor is exempt: it also finds generations in user data,
    where older clients have them.

    :raises KafkaTXError: names the member, the partition and the reason.
    """
    owners: dict[TopicPartition, str] = {}
    for member_id, partitions_given in assignments.items():
        for topic_partition in partitions_given:
            at = TopicPartition(*topic_partition)
            why = _error_in(member_id, at, members, partitions, owners)
            if why:
                raise _invalid(assignor, member_id, at, why)
            owners[at] = member_id
    if not assignor.cooperative or assignor is COOPERATIVE_STICKY:
        return
    claims = {member.member_id: Claim(member.owned, member.generation) for member in members.values()}
    for owner, held in resolve_claims(claims, partitions).held.items():
        for at in held:
            if owners.get(at, owner) != owner:
                why = f"but {owner} still owns it, and has to give it up first: leave it out this time"
                raise _invalid(assignor, owners[at], at, why)


def _error_in(
    member_id: str,
    at: TopicPartition,
    members: Mapping[str, Member],
    partitions: PartitionCounts,
    owners: Mapping[TopicPartition, str],
) -> str:
    """Return why a member cannot have a partition; empty if it can."""
    if member_id not in members:
        return "which is not a member"
    if at.topic not in members[member_id].topics:
        return "which does not subscribe to the topic"
    if at.partition not in range(partitions.get(at.topic, 0)):
        return f"but the topic has {partitions.get(at.topic, 0)} partitions"
    return f"and to {owners[at]}" if at in owners else ""


def _invalid(assignor: Assignor, member_id: str, at: TopicPartition, why: str) -> KafkaTXError:
    where = f"{at.topic} [{at.partition}]"
    return KafkaTXError(f"the assignor {assignor.name} is wrong: it assigns {where} to {member_id}, {why}")
