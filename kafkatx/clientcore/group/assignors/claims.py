"""Resolution of conflicting claims to owned partitions, before a sticky assignment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import attrs

from kafkatx.clientcore.group.assignors.assignor import PartitionCounts
from kafkatx.types import TopicPartition


class Claim(NamedTuple):
    """The partitions that a member says it owns, and their generation; -1 if it does not tell."""

    partitions: tuple[TopicPartition, ...]
    generation: int


@attrs.frozen
class ResolvedClaims:
    """The result of resolving claims.

    :ivar held: partitions that each member may keep: they exist, and no other member has a better claim to
        them.
    :ivar disputed: partitions that two members of the same generation claim; neither keeps them.
    :ivar older: previous owners, by claims of generations before the newest.
    """

    held: dict[str, list[TopicPartition]]
    disputed: set[TopicPartition]
    older: dict[TopicPartition, str]


def resolve_claims(claims: Mapping[str, Claim], partitions: PartitionCounts) -> ResolvedClaims:
    """Give each partition to the member that claims it with the newest generation."""
    resolved = ResolvedClaims({member: [] for member in claims}, set(), {})
    owners: dict[TopicPartition, tuple[int, str]] = {}
    for member in sorted(claims):
        generation = claims[member].generation
        for at in dict.fromkeys(claims[member].partitions):
            if not 0 <= at.partition < partitions.get(at.topic, 0):
                continue
            other = owners.get(at)
            if other is None or generation > other[0]:
                resolved.disputed.discard(at)
                owners[at] = (generation, member)
            elif generation == other[0]:
                resolved.disputed.add(at)
    for at, (_, member) in owners.items():
        if at not in resolved.disputed:
            resolved.held[member].append(at)
    resolved.older.update(_older(claims))
    return resolved


def _older(claims: Mapping[str, Claim]) -> dict[TopicPartition, str]:
    """Return who owned partitions last, by claims of generations before the newest."""
    newest = max((claim.generation for claim in claims.values()), default=-1)
    ordered = sorted((claim.generation, member) for member, claim in claims.items())
    return {at: member for number, member in ordered if number < newest for at in claims[member].partitions}
