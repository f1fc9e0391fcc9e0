"""Commits of offsets: those of one read are one batch and one write per partition of ``__consumer_offsets``.

They are applied to the offsets in memory only when they are in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode
from kafkatx.group.offset_records import Committed, encode_key, encode_value
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

    :ivar shard: the shard of the group.
    :ivar records: key and value of each record to write, all in one batch; empty once refused.
    :ivar size_bytes: the most that the records take in a batch.
    """

    __slots__ = ("changes", "group_id", "records", "shard", "size_bytes")

    def __init__(self, group_id: str, shard: GroupShard, changes: list[Change]) -> None:
        self.group_id = group_id
        self.shard = shard
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

    def apply(self) -> None:
        """Make the committed offsets those that are fetched: the commit is written."""
        group_id, offsets = self.group_id, self.shard.offsets
        for topic, number, committed, _ in self.changes:
            offsets.set(group_id, topic, number, committed)


Commits = dict[Partition, list[Commit]]
"""The commits of one round, by the partition that they are written to, in the order in which they came."""


class OffsetCommitter:
    """Writes offset commits: those of one round are one batch and one write for each partition.

    :ivar pending: the commits that are not staged yet.
    """

    def __init__(self, writer: RecordWriter, replicas: ReplicaManager) -> None:
        self._writer = writer
        self._replicas = replicas
        self.pending: Commits = {}

    def add(self, commit: Commit) -> None:
        """Add a commit to the round."""
        self.pending.setdefault(commit.shard.partition, []).append(commit)

    def stage(self) -> Commits:
        """Stage the records of the round and return its commits; refuse those that the log does not take."""
        commits, self.pending = self.pending, {}
        self._stage(commits)
        return commits

    def _stage(self, commits: Commits) -> None:
        for partition, of_partition in commits.items():
            for batch in _batches(of_partition, partition.log.config.max_message_bytes):
                records = [record for commit in batch for record in commit.records]
                error = self._writer.stage(partition, records)
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
                if lost or commit.shard.dropped:
                    commit.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
                elif commit.records:
                    commit.apply()

    def committed(self, commit: Commit) -> Deferred[None] | None:
        """Wait until a written commit is committed, as :meth:`RecordWriter.committed`; None if refused."""
        return self._writer.committed(commit.shard.partition) if commit.records else None

    def write(self, commit: Commit) -> None:
        """Write one commit by itself, at once."""
        partition = commit.shard.partition
        commits = {partition: [commit]}
        self._stage(commits)
        self.settle(commits, self._replicas.write(partition))


def _batches(commits: Sequence[Commit], max_bytes: int) -> Iterator[Sequence[Commit]]:
    """Split commits into batches that the log takes, mostly one. A commit is never split."""
    first, size = 0, 0
    for number, commit in enumerate(commits):
        if size and size + commit.size_bytes > max_bytes - HEADER_BYTES:
            yield commits[first:number]
            first, size = number, 0
        size += commit.size_bytes
    yield commits[first:]
