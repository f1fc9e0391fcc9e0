"""The progress of a group: committed offset, end offset and lag of each partition. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kafkatx.clientcore.admin.group_description import GroupDescription, Member
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.types import TopicPartition


@attrs.frozen
class Progress:
    """The progress of a group in one partition.

    :ivar committed: None: there is no committed offset yet.
    :ivar end: the log end offset; None: the partition does not exist or has no leader.
    :ivar member: the member that the partition is assigned to, or None.
    """

    at: TopicPartition
    committed: OffsetAndMetadata | None
    end: int | None
    member: Member | None

    @property
    def lag(self) -> int | None:
        """The number of offsets that are still to be read.

        Negative if the committed offset is beyond the end: the topic was deleted and created again.
        """
        return None if self.committed is None or self.end is None else self.end - self.committed.offset


def partitions_of(
    group: GroupDescription, committed: Iterable[TopicPartition]
) -> dict[TopicPartition, Member | None]:
    """Return each partition with a committed offset or an assigned member, in order, with that member."""
    members = {at: member for member in group.members for at in member.partitions}
    return {at: members.get(at) for at in sorted({*committed, *members})}


def with_leader(partitions: Iterable[TopicPartition], metadata: ClusterMetadata) -> list[TopicPartition]:
    """Return the partitions that exist and have a leader to ask for the end offset."""
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
    """Combine the results; *ends* lacks partitions that do not exist or have no leader."""
    return [Progress(at, committed.get(at), ends.get(at), member) for at, member in partitions.items()]
