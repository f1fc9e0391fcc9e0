"""Who had what, where members may claim the same: sorted out before anything is assigned anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import attrs

from kafkatx.clientcore.group.assignors.assignor import PartitionCounts
from kafkatx.types import TopicPartition


class Claim(NamedTuple):
    """What a member says it has, and in which generation it got it; -1: it does not tell."""

    partitions: tuple[TopicPartition, ...]
    generation: int


@attrs.frozen
class ResolvedClaims:
    """What is left of the claims.

    :ivar held: by member, what it may keep: partitions that exist, and that nobody has a better claim to.
    :ivar disputed: partitions that two members of the same generation claim; neither has them.
    :ivar older: who had a partition by an older generation than the newest: it may come back there.
    """

    held: dict[str, list[TopicPartition]]
    disputed: set[TopicPartition]
    older: dict[TopicPartition, str]


def resolve_claims(claims: Mapping[str, Claim], partitions: PartitionCounts) -> ResolvedClaims:
    """Give each partition to whoever claims it by the newest generation."""
    settled = ResolvedClaims({member: [] for member in claims}, set(), {})
    owners: dict[TopicPartition, tuple[int, str]] = {}
    for member in sorted(claims):
        generation = claims[member].generation
        for at in dict.fromkeys(claims[member].partitions):
            if not 0 <= at.partition < partitions.get(at.topic, 0):
                continue
            other = owners.get(at)
            if other is None or generation > other[0]:
                settled.disputed.discard(at)
                owners[at] = (generation, member)
            elif generation == other[0]:
                settled.disputed.add(at)
    for at, (_, member) in owners.items():
        if at not in settled.disputed:
            settled.held[member].append(at)
    settled.older.update(_older(claims))
    return settled


def _older(claims: Mapping[str, Claim]) -> dict[TopicPartition, str]:
    """Of generations before the newest, who had a partition last."""
    newest = max((claim.generation for claim in claims.values()), default=-1)
    ordered = sorted((claim.generation, member) for member, claim in claims.items())
    return {at: member for number, member in ordered if number < newest for at in claims[member].partitions}
