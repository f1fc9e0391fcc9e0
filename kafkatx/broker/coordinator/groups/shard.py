"""The groups of one partition of ``__consumer_offsets``, with all that belongs to them.

:mod:`kafkatx.broker.coordinator.groups.coordinator` makes a shard when a partition is loaded, and drops it as
a whole when this broker leads the partition no more. It touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from kafkatx.broker.coordinator.groups.record_store import RecordStore
from kafkatx.broker.coordinator.runtime.pending_request import PendingRequest, end_requests
from kafkatx.broker.replica.partition import Partition
from kafkatx.group.actions import Group, Record
from kafkatx.group.offset_records import tombstone
from kafkatx.group.offsets import Offsets
from kafkatx.group.pending_offsets import PendingOffsets


class PendingCommit(Protocol):
    """Offsets of a group that are written and not committed yet."""

    group_id: str

    def offsets(self) -> Iterable[tuple[str, int]]:
        """Return topic and partition of each offset."""

    def forget(self, topic: str, number: int) -> None:
        """Apply nothing of a partition when the others are committed."""


class GroupShard:
    """The groups of one partition.

    :ivar number: the number of the partition.
    :ivar groups: the groups by id.
    :ivar offsets: the committed offsets of these groups.
    :ivar pending: the commits of offsets that are written and not committed yet.
    :ivar pending_offsets: the offsets that are committed with open transactions.
    :ivar records: stores the groups' records.
    :ivar requests: the requests that wait for an answer of a group.
    :ivar dropped: True if the partition is coordinated no more, or again from its records.
    """

    __slots__ = (
        "dropped",
        "groups",
        "number",
        "offsets",
        "partition",
        "pending",
        "pending_offsets",
        "records",
        "requests",
    )

    def __init__(self, partition: Partition, records: RecordStore) -> None:
        self.number: int = partition.topic_partition.partition
        self.partition = partition
        self.records = records
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.pending: dict[PendingCommit, None] = {}
        self.pending_offsets = PendingOffsets()
        self.requests: dict[PendingRequest[Any], None] = {}
        self.dropped = False

    # --- offsets

    def pending_of(self, group_id: str) -> set[tuple[str, int]]:
        """Return topic and partition of the offsets of a group that are written and not committed yet.

        Those of open transactions are among them.
        """
        written = {key for commit in self.pending if commit.group_id == group_id for key in commit.offsets()}
        return written | self.pending_offsets.of_group(group_id) if self.pending_offsets else written

    def has_offsets(self, group_id: str) -> bool:
        """Return True if a group has committed offsets, or some are being committed."""
        if self.offsets.of(group_id) or any(one.group_id == group_id for one in self.pending):
            return True
        return bool(self.pending_offsets) and bool(self.pending_offsets.of_group(group_id))

    def offset_tombstones(self, group_id: str) -> list[Record]:
        """Return the records that remove all offsets of a group from the log, the newest as well."""
        known = self.offsets.tombstones(group_id)
        keys = {record.key for record in known}
        more = [tombstone(group_id, *offset) for offset in sorted(self.pending_of(group_id))]
        return known + [record for record in more if record.key not in keys]

    def groups_with_offsets_of(self, topic: str) -> list[tuple[str, list[int]]]:
        """Return each group with offsets of a topic, and the partitions; with those being committed."""
        found = {group_id: dict.fromkeys(numbers) for group_id, numbers in self.offsets.of_topic(topic)}
        for commit in self.pending:
            for name, number in commit.offsets():
                if name == topic:
                    found.setdefault(commit.group_id, {})[number] = None
        for group_id, name, number in self.pending_offsets:
            if name == topic:
                found.setdefault(group_id, {})[number] = None
        return [(group_id, list(numbers)) for group_id, numbers in found.items()]

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """End a producer's transaction: its marker is committed in the partition."""
        for (group_id, topic, number), committed in self.pending_offsets.end(producer_id, commit).items():
            self.offsets.set(group_id, topic, number, committed)

    def delete_offset(self, group_id: str, topic: str, number: int) -> None:
        """Remove an offset, and what was committed before its tombstone was written."""
        self.offsets.delete(group_id, topic, number)
        self.pending_offsets.supersede((group_id, topic, number))
        for commit in self.pending:
            if commit.group_id == group_id:
                commit.forget(topic, number)

    def remove_offsets(self, group_id: str) -> None:
        """Remove all offsets of a group, as :meth:`delete_offset`."""
        for topic, number in self.pending_of(group_id):
            self.delete_offset(group_id, topic, number)
        self.offsets.remove(group_id)

    def drop(self) -> None:
        """Report no store any more, and answer the waiting requests with NOT_COORDINATOR."""
        self.dropped = True
        self.records.stop()
        end_requests(self)
