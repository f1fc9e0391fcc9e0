"""The progress of a group: committed offset, end offset and lag of each partition. Pure.

The end of a transaction has an offset, too, that no consumer is given. A group that has read everything
commits the offset after its last record, and would seem one offset behind for ever. So the last offsets of
partitions that are almost read are fetched, and count only if there is a record among them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import attrs

from kafkatx.clientcore.admin.group_description import GroupDescription, Member
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.records import batch as v2
from kafkatx.records.conversion import batches
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic


@attrs.frozen
class Progress:
    """The progress of a group in one partition.

    :ivar committed: None: there is no committed offset yet.
    :ivar end: the log end offset; None: the partition does not exist or has no leader.
    :ivar member: the member that the partition is assigned to, or None.
    :ivar is_read: True if no record is after the committed offset, but ends of transactions.
    """

    at: TopicPartition
    committed: OffsetAndMetadata | None
    end: int | None
    member: Member | None
    is_read: bool = False

    @property
    def lag(self) -> int | None:
        """The number of offsets that are still to be read.

        Negative if the committed offset is beyond the end: the topic was deleted and created again.
        """
        if self.committed is None or self.end is None:
            return None
        return 0 if self.is_read else self.end - self.committed.offset


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


MOST_MARKERS = 10
"""The most offsets at the end of a partition that are looked at."""

_PARTITION_BYTES, _BYTES = 1 << 12, 1 << 20


def almost_read(rows: Iterable[Progress]) -> list[TopicPartition]:
    """Return the partitions whose last offsets may be ends of transactions alone."""
    return [row.at for row in rows if 0 < (row.lag or 0) <= MOST_MARKERS]


def tail_request(rows: Iterable[Progress], partitions: Collection[TopicPartition]) -> FetchRequest:
    """Return the request, of a version with names, for what follows the committed offsets."""
    topics: dict[str, list[FetchPartition]] = {}
    for row in rows:
        if row.at in partitions and row.committed is not None:
            asked = FetchPartition(
                partition=row.at.partition,
                fetch_offset=row.committed.offset,
                partition_max_bytes=_PARTITION_BYTES,
            )
            topics.setdefault(row.at.topic, []).append(asked)
    listed = [FetchTopic(topic, partitions=asked) for topic, asked in topics.items()]
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=_BYTES, topics=listed)


def read_to_end(rows: Iterable[Progress], response: FetchResponse) -> list[Progress]:
    """Return the rows with ``is_read`` where all that was fetched up to the end are ends of transactions."""
    found = {
        TopicPartition(topic.topic, answer.partition_index): memoryview(answer.records or b"")  # type: ignore[arg-type]
        for topic in response.responses
        for answer in topic.partitions
        if not answer.error_code
    }
    return [
        attrs.evolve(row, is_read=True) if row.at in found and _only_markers(found[row.at], row) else row
        for row in rows
    ]


def _only_markers(data: memoryview, row: Progress) -> bool:
    if row.committed is None or row.end is None:
        return False
    at = row.committed.offset
    for span in batches(data):
        if span.last_offset < at:
            continue
        if span.magic < v2.MAGIC or not v2.parse_header(data, span.position).control:
            return False
        at = span.last_offset + 1
    return at >= row.end
