"""Resets of a group's offsets: first a plan that can be shown, then its execution."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import attrs

from kafkatx.blocking.admin.groups import Groups
from kafkatx.clientcore.admin.group_description import DEAD, EMPTY
from kafkatx.clientcore.admin.groups import GroupInUse, UnknownGroup
from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster


class Kind(enum.Enum):
    """The kinds of reset targets; the value describes it."""

    EARLIEST = "the first record"
    LATEST = "the end"
    OFFSET = "this offset"
    TIME = "the first record at or after this time, in ms since the epoch; else the end"
    SHIFT = "the committed offset plus this number, which may be negative"


@attrs.frozen
class Target:
    """The target of a reset, the same for all partitions."""

    kind: Kind
    value: int = 0


@attrs.frozen
class Move:
    """A partition's committed offset before (None: there is none) and after.

    :ivar target_offset: the offset before it was limited to the range from the log start to *end*.
    """

    at: TopicPartition
    old: int | None
    new: int
    target_offset: int
    end: int

    @property
    def lag(self) -> int:
        """The number of offsets that remain to be read."""
        return self.end - self.new


def partitions_of(
    cluster: Cluster, committed: Iterable[TopicPartition], scope: Mapping[str, Collection[int]]
) -> list[TopicPartition]:
    """Return the partitions to reset, in order; partition numbers in *scope* are not checked.

    :param committed: partitions with committed offsets, which are reset if *scope* is empty.
    :param scope: topics, each with partitions; no partitions mean all of the topic.
    :raises UnknownTopic: a topic does not exist.
    """
    if not scope:
        return _existing(cluster, committed)
    found = []
    for topic, numbers in scope.items():
        known = cluster.partitions(topic)
        found += [TopicPartition(topic, number) for number in set(numbers) or known]
    return sorted(found)


def _existing(cluster: Cluster, committed: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Check that the topics of these partitions exist; return the partitions in order."""
    found = sorted(committed)
    topics = cluster.metadata(sorted({at.topic for at in found})).topics if found else {}
    for name, topic in topics.items():
        if not topic.usable:
            raise UnknownTopic(name, ", but the group has offsets in it: name the other topics with --topic")
    return found


def plan(cluster: Cluster, group_id: str, target: Target, scope: Mapping[str, Collection[int]]) -> list[Move]:
    """Return each partition's new offset; nothing is changed.

    :param scope: as for :func:`partitions_of`.
    :raises GroupInUse: the group has members, which would not notice the reset.
    :raises UnknownGroup: it has no offsets, and *scope* is empty.
    :raises RequestError: a partition does not exist, has no leader, or has no offset to shift.
    """
    groups = Groups(cluster)
    if groups.describe(group_id).state not in (EMPTY, DEAD):
        raise GroupInUse(group_id, "set its offsets")
    committed = groups.offsets(group_id)
    partitions = partitions_of(cluster, committed, scope)
    if not partitions:
        raise UnknownGroup(group_id)
    starts, ends = (_offsets(cluster, partitions, time) for time in (EARLIEST, LATEST))
    moves = []
    for at, target_offset in _targets(cluster, partitions, target, committed, starts, ends).items():
        old = committed[at].offset if at in committed else None
        moves.append(Move(at, old, min(max(target_offset, starts[at]), ends[at]), target_offset, ends[at]))
    return moves


def carry_out(cluster: Cluster, group_id: str, moves: Iterable[Move]) -> None:
    """Commit the new offsets.

    :raises GroupInUse: the group has members now; nothing was changed.
    """
    Groups(cluster).commit(group_id, {move.at: OffsetAndMetadata(move.new) for move in moves})


def _targets(
    cluster: Cluster,
    partitions: list[TopicPartition],
    target: Target,
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> Mapping[TopicPartition, int]:
    """Return the target's offset in each partition, which may be outside of the log."""
    if target.kind is Kind.EARLIEST:
        return starts
    if target.kind is Kind.LATEST:
        return ends
    if target.kind is Kind.TIME:
        by_time = _offsets(cluster, partitions, max(0, target.value))  # below 0 are LATEST, EARLIEST, ...
        return {at: offset if offset >= 0 else ends[at] for at, offset in by_time.items()}
    if target.kind is Kind.SHIFT:
        for at in partitions:
            if at not in committed:
                raise RequestError(
                    ErrorCode.OFFSET_NOT_AVAILABLE,
                    f"{at.topic} [{at.partition}] has no committed offset to be shifted: leave it out",
                )
        return {at: committed[at].offset + target.value for at in partitions}
    return dict.fromkeys(partitions, target.value)


def _offsets(cluster: Cluster, partitions: list[TopicPartition], time: int) -> dict[TopicPartition, int]:
    found = cluster.offsets_of(dict.fromkeys(partitions, time))
    return {at: offset for at, (offset, _) in found.items()}
