"""Commits of offsets: those of one read are one batch and one write per partition of ``__consumer_offsets``.

They are applied to the offsets in memory only when they are in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.offsets_topic import OffsetsTopic
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed, encode_key, encode_value
from kafkatx.group.offsets import Offsets
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import MOST_OVERHEAD
from kafkatx.wire.messages.offset_commit import OffsetCommitResponsePartition

TO_CLIENTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
"""The error that a client is told for an append's, as in Kafka's ``GroupMetadataManager.storeOffsets``."""

Change = tuple[str, int, Committed, OffsetCommitResponsePartition]
"""Topic, partition, the committed offset, and the part of the response that tells the result."""


class Commit:
    """The offsets that one request commits.

    :ivar partition: the group's partition of ``__consumer_offsets``.
    :ivar records: key and value of each record to write, all in one batch; empty once refused.
    :ivar size_bytes: the most that the records take in a batch.
    """

    __slots__ = ("changes", "group_id", "partition", "records", "size_bytes")

    def __init__(self, group_id: str, partition: Partition, changes: list[Change]) -> None:
        self.group_id = group_id
        self.partition = partition
        self.changes = changes
        self.records: list[tuple[bytes, bytes]] = []
        size = 0
        for topic, number, committed, _ in changes:
            record = encode_key(group_id, topic, number), encode_value(committed)
            self.records.append(record)
            size += MOST_OVERHEAD + len(record[0]) + len(record[1])
        self.size_bytes = size

    def refuse(self, error: ErrorCode) -> None:
        """Answer with the error of an append, and apply nothing."""
        code = TO_CLIENTS.get(error, error)
        self.records = []
        for change in self.changes:
            change[3].error_code = code

    def apply(self, offsets: Offsets) -> None:
        """Make the committed offsets those that are fetched: the commit is written."""
        group_id = self.group_id
        for topic, number, committed, _ in self.changes:
            offsets.set(group_id, topic, number, committed)

    def flushed(self) -> Deferred[int] | None:
        """Return a Deferred that may fail with OSError if ``flush.messages`` makes the commit wait."""
        partition = self.partition
        return partition.log.flush() if self.records and partition.must_flush else None


Commits = dict[Partition, list[Commit]]
"""The commits of one round, by the partition that they are written to, in the order in which they came."""


class OffsetCommitter:
    """Writes offset commits: those of one round are one batch and one write for each partition.

    :ivar pending: the commits that are not staged yet.
    """

    def __init__(self, topic: OffsetsTopic, replicas: ReplicaManager, offsets: Offsets) -> None:
        self._topic = topic
        self._replicas = replicas
        self._offsets = offsets
        self.pending: Commits = {}

    def add(self, commit: Commit) -> None:
        """Add a commit to the round."""
        self.pending.setdefault(commit.partition, []).append(commit)

    def stage(self) -> Commits:
        """Stage the records of the round and return its commits; refuse those that the log does not take."""
        commits, self.pending = self.pending, {}
        self._stage(commits)
        return commits

    def _stage(self, commits: Commits) -> None:
        for partition, of_partition in commits.items():
            for batch in _batches(of_partition, partition.log.config.max_message_bytes):
                records = [record for commit in batch for record in commit.records]
                error = self._topic.stage(partition, records)
                if error:
                    for commit in batch:
                        commit.refuse(error)

    def settle(self, commits: Commits, failed: dict[object, OSError]) -> None:
        """Apply the commits of a round that were written, and refuse the others.

        :param failed: the partitions whose write failed.
        """
        for partition, of_partition in commits.items():
            lost = partition in failed or partition.offline
            for commit in of_partition:
                if lost:
                    commit.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
                elif commit.records:
                    commit.apply(self._offsets)

    def write(self, commit: Commit) -> None:
        """Write one commit by itself, at once."""
        commits = {commit.partition: [commit]}
        self._stage(commits)
        self.settle(commits, self._replicas.write(commit.partition))


def _batches(commits: Sequence[Commit], max_bytes: int) -> Iterator[Sequence[Commit]]:
    """Split commits into batches that the log takes, mostly one. A commit is never split."""
    first, size = 0, 0
    for number, commit in enumerate(commits):
        if size and size + commit.size_bytes > max_bytes - HEADER_BYTES:
            yield commits[first:number]
            first, size = number, 0
        size += commit.size_bytes
    yield commits[first:]
