"""How far a group has come in each partition, and how far it could go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kafkatx.clientcore.admin.group_description import GroupDescription, Member
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.types import TopicPartition


@attrs.frozen
class Progress:
    """A group in one partition.

    :ivar committed: None: it has not committed an offset there yet.
    :ivar end: the offset that the next record gets; None: the partition is gone or has no leader.
    :ivar member: who has the partition now, if anybody.
    """

    at: TopicPartition
    committed: OffsetAndMetadata | None
    end: int | None
    member: Member | None

    @property
    def lag(self) -> int | None:
        """How many offsets are still to be read.

        Negative where the committed offset lies beyond the end: the topic was deleted and created again.
        """
        return None if self.committed is None or self.end is None else self.end - self.committed.offset


def partitions_of(
    group: GroupDescription, committed: Iterable[TopicPartition]
) -> dict[TopicPartition, Member | None]:
    """Every partition that the group has committed an offset for, or that a member of it has; in order.

    Of each the member that has it now, if any.
    """
    members = {at: member for member in group.members for at in member.partitions}
    return {at: members.get(at) for at in sorted({*committed, *members})}


def with_leader(partitions: Iterable[TopicPartition], metadata: ClusterMetadata) -> list[TopicPartition]:
    """Those of the partitions that are there and have a leader, who can be asked how long they are."""
    return [at for at in partitions if _leader(at, metadata) >= 0]


def _leader(at: TopicPartition, metadata: ClusterMetadata) -> int:
    topic = metadata.topics.get(at.topic)
    state = topic.partitions.get(at.partition) if topic is not None else None
    return state.leader if state is not None else -1


def progress(
    partitions: Mapping[TopicPartition, Member | None],
    committed: Mapping[TopicPartition, OffsetAndMetadata],
    ends: Mapping[TopicPartition, int],
) -> list[Progress]:
    """Put together what was found of each partition; *ends* lacks those gone or without a leader."""
    return [Progress(at, committed.get(at), ends.get(at), member) for at, member in partitions.items()]
