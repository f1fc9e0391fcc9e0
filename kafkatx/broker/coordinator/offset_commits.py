"""Commits of offsets, many at a time: those of one read are one batch and one write for each partition of
``__consumer_offsets``. Only when they are in the log do they count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed, encode_key, encode_value
from kafkatx.group.offsets import Offsets
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import MOST_OVERHEAD
from kafkatx.wire.messages.offset_commit import OffsetCommitResponsePartition

if TYPE_CHECKING:
    from kafkatx.broker.coordinator.offsets_topic import OffsetsTopic
    from kafkatx.broker.state import Broker

TO_CLIENTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
"""What an append's error becomes, as in Apache Kafka's ``GroupMetadataManager.storeOffsets``."""

Change = tuple[str, int, Committed, OffsetCommitResponsePartition]
"""Topic, partition, what is committed for it, and the part of the response that tells how it went."""


class Commit:
    """What one request commits.

    :ivar partition: the group's, of ``__consumer_offsets``.
    :ivar records: what is written; all of it in one batch.
    :ivar size_bytes: the most that they take in a batch.
    """

    __slots__ = ("changes", "group_id", "partition", "records", "size_bytes")

    def __init__(self, group_id: str, partition: Partition, changes: list[Change]) -> None:
        self.group_id = group_id
        self.partition = partition
        self.changes = changes
        self.records = []
        size = 0
        for topic, number, committed, _ in changes:
            record = encode_key(group_id, topic, number), encode_value(committed)
            self.records.append(record)
            size += MOST_OVERHEAD + len(record[0]) + len(record[1])
        self.size_bytes = size

    def refuse(self, error: ErrorCode) -> None:
        """Answer with an append's error; nothing is changed."""
        code = TO_CLIENTS.get(error, error)
        self.records = []
        for change in self.changes:
            change[3].error_code = code

    def count(self, offsets: Offsets) -> None:
        """It is written: from now on it is what is fetched."""
        group_id = self.group_id
        for topic, number, committed, _ in self.changes:
            offsets.set(group_id, topic, number, committed)

    def flushed(self) -> Deferred[int] | None:
        """Where ``flush.messages`` makes it wait for the disk: what fires then, and fails with OSError."""
        partition = self.partition
        return partition.log.flush() if self.records and partition.must_flush else None


Commits = dict[Partition, list[Commit]]
"""The commits of one round, by the partition that they are written to, in the order in which they came."""


def stage(commits: Commits, topic: OffsetsTopic) -> None:
    """Stage the records of a round; commits that the log does not take are refused."""
    for partition, those in commits.items():
        for batch in _batches(those, partition.log.config.max_message_bytes):
            error = topic.stage(partition, [record for commit in batch for record in commit.records])
            if error:
                for commit in batch:
                    commit.refuse(error)


def settle(commits: Commits, failed: dict[object, OSError], offsets: Offsets) -> None:
    """The round is written: what is in the log counts, what is not is refused."""
    for partition, those in commits.items():
        lost = partition in failed or partition.offline
        for commit in those:
            if lost:
                commit.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
            elif commit.records:
                commit.count(offsets)


def write_now(commit: Commit, broker: Broker) -> None:
    """Write one commit by itself."""
    commits = {commit.partition: [commit]}
    stage(commits, broker.groups.topic)
    settle(commits, broker.write_own(commit.partition), broker.groups.offsets)


def _batches(commits: Sequence[Commit], max_bytes: int) -> Iterator[Sequence[Commit]]:
    """Part commits into batches that the log takes: mostly one. A commit is never parted."""
    first, size = 0, 0
    for number, commit in enumerate(commits):
        if size and size + commit.size_bytes > max_bytes - HEADER_BYTES:
            yield commits[first:number]
            first, size = number, 0
        size += commit.size_bytes
    yield commits[first:]
