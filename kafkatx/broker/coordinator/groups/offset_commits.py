"""Commits of offsets: those of one read are one batch and one write per partition of ``__consumer_offsets``.

They are applied to the offsets in memory when they are committed, in the order of the log: an offset that was
fetched is never lost with its leader. A commit whose client was told an error because the other replicas were
slow is applied nevertheless as soon as they have it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from kafkatx.broker.coordinator.groups.shard import GroupShard
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter, outcome
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.offset_records import Committed, encode_key, encode_value
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import MOST_OVERHEAD
from kafkatx.types import Marker
from kafkatx.wire.messages.offset_commit import OffsetCommitResponsePartition

TO_CLIENTS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
"""The error that a client is told for an append's, as in Kafka's ``GroupMetadataManager.storeOffsets``."""

Change = tuple[str, int, Committed, OffsetCommitResponsePartition]
"""Topic, partition, the committed offset, and the part of the response that tells the result."""


class Commit:
    """The offsets that one request commits.

    :ivar transaction: the producer id and epoch of the transaction that they are part of; None: of none.
    :ivar shard: the shard of the group.
    :ivar records: key and value of each record to write, all in one batch; empty once refused.
    :ivar size_bytes: the most that the records take in a batch.
    :ivar round: the round that it was written in, until that is committed; None if it was at once.
    """

    __slots__ = ("changes", "group_id", "records", "round", "shard", "size_bytes", "transaction")

    def __init__(
        self,
        group_id: str,
        shard: GroupShard,
        changes: list[Change],
        transaction: tuple[int, int] | None = None,
    ) -> None:
        self.group_id = group_id
        self.transaction = transaction
        self.shard = shard
        self.changes = changes
        self.round: _Round | None = None
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
        """Make the committed offsets those that are fetched, or those of an open transaction."""
        group_id, offsets, pending = self.group_id, self.shard.offsets, self.shard.pending_offsets
        if self.transaction is not None:
            for topic, number, committed, _ in self.changes:
                pending.add(self.transaction[0], (group_id, topic, number), committed)
            return
        for topic, number, committed, _ in self.changes:
            offsets.set(group_id, topic, number, committed)
            if pending:
                pending.supersede((group_id, topic, number))

    def offsets(self) -> Iterator[tuple[str, int]]:
        """Yield topic and partition of each offset."""
        return ((topic, number) for topic, number, _, _ in self.changes)

    def forget(self, topic: str, number: int) -> None:
        """Apply nothing of a partition: its offset was deleted after this commit."""
        self.changes = [change for change in self.changes if change[:2] != (topic, number)]


class _Round:
    """The commits of one write to one partition, which are not committed yet.

    :ivar fate: NONE once they are committed, or the reason why that will never be known; None before.
    """

    __slots__ = ("_answer", "_replies", "commits", "fate")

    def __init__(self, commits: list[Commit]) -> None:
        self.commits = commits
        self.fate: ErrorCode | None = None
        self._answer: ErrorCode | None = None
        self._replies: list[Deferred[None]] = []
        for commit in commits:
            commit.round = self
            commit.shard.pending[commit] = None

    def reply(self) -> Deferred[None] | None:
        """Return what fires when clients can be answered; None if they can now, that all is committed."""
        if self._answer is not None:
            return fail(RequestError(self._answer)) if self._answer else None
        waiting: Deferred[None] = Deferred()
        self._replies.append(waiting)
        return waiting

    def answer(self, code: ErrorCode) -> None:
        """Answer the clients, the last one first, unless they were answered before."""
        if self._answer is None:
            self._answer = code
            replies, self._replies = self._replies, []
            for waiting in reversed(replies):
                if code:
                    waiting.errback(RequestError(code))
                else:
                    waiting.callback(None)

    def end(self) -> None:
        """Apply the commits if they are committed; the clients are answered next."""
        for commit in self.commits:
            commit.shard.pending.pop(commit, None)
            if not self.fate and not commit.shard.dropped:
                commit.apply()


class TransactionEnd(Commit):
    """The marker of a transaction in the partition of a shard: its offsets are committed, or dropped."""

    __slots__ = ("_committed", "_producer_id", "error")

    def __init__(self, shard: GroupShard, producer_id: int, committed: bool) -> None:
        super().__init__("", shard, [])
        self.records = [(b"", b"")]  # it is written
        self.error = ErrorCode.NONE
        self._producer_id = producer_id
        self._committed = committed

    def refuse(self, error: ErrorCode) -> None:
        """Keep the error of the append."""
        self.error = error

    def apply(self) -> None:
        """End the transaction."""
        self.shard.end_transaction(self._producer_id, self._committed)


Commits = dict[Partition, list[Commit]]
"""The commits of one round, by the partition that they are written to, in the order in which they came."""


class OffsetCommitter:
    """Writes offset commits: those of one round are one batch and one write for each partition.

    :ivar pending: the commits that are not staged yet.
    """

    def __init__(self, writer: RecordWriter, replicas: ReplicaManager) -> None:
        self._writer = writer
        self._replicas = replicas
        self._rounds: dict[Partition, deque[_Round]] = {}
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
                error = self._writer.stage(partition, records, batch[0].transaction)
                if error:
                    for commit in batch:
                        commit.refuse(error)

    def settle(self, commits: Commits, failed: dict[object, OSError]) -> None:
        """Apply the commits of a round that are committed; refuse those that were not written.

        :param failed: the partitions whose write failed.
        """
        for partition, of_partition in commits.items():
            lost = partition in failed or partition.offline
            written = []
            for commit in of_partition:
                if lost or commit.shard.dropped:
                    commit.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
                elif commit.records:
                    written.append(commit)
            if written:
                self._settle_written(partition, written)

    def _settle_written(self, partition: Partition, commits: list[Commit]) -> None:
        certain = self._writer.certain(partition)
        if certain is None and partition not in self._rounds:
            for commit in commits:
                commit.apply()
            return
        written = _Round(commits)
        self._rounds.setdefault(partition, deque()).append(written)
        in_time = self._writer.committed(partition) if partition.replicated else None
        if in_time is not None:
            in_time.addErrback(self._late, written)
        if certain is None:
            self._end(ErrorCode.NONE, partition, written)
        else:
            certain.addCallback(self._end, partition, written)

    def _late(self, failure: Failure, written: _Round) -> None:
        """Answer the clients with an error; the commits are applied if they are committed later."""
        failure.trap(RequestError)
        assert isinstance(failure.value, RequestError)
        written.answer(failure.value.code)

    def _end(self, fate: ErrorCode, partition: Partition, written: _Round) -> None:
        """End the rounds of a partition in their order, up to the first that is not committed.

        The last client is answered first, so that the replies of one connection leave together.
        """
        written.fate = fate
        rounds, ended = self._rounds.get(partition, deque()), []
        while rounds and rounds[0].fate is not None:
            ended.append(rounds.popleft())
            ended[-1].end()
        if not rounds:
            self._rounds.pop(partition, None)
        for one in reversed(ended):
            one.answer(one.fate or ErrorCode.NONE)

    def drop(self, partition: Partition) -> None:
        """Apply nothing more to a partition, and answer the clients that wait: it is another broker's."""
        for written in self._rounds.pop(partition, ()):
            written.fate = ErrorCode.NOT_COORDINATOR
            written.end()
            written.answer(ErrorCode.NOT_COORDINATOR)

    def committed(self, commit: Commit) -> Deferred[None] | None:
        """Wait until a written commit is committed, as :meth:`RecordWriter.committed`; None if refused."""
        return None if commit.round is None else commit.round.reply()

    def write(self, commit: Commit) -> None:
        """Write one commit by itself, at once: in particular one of a transaction, whose batch is its own."""
        partition = commit.shard.partition
        commits = {partition: [commit]}
        self._stage(commits)
        self.settle(commits, self._replicas.write(partition))

    def end_transaction(
        self, shard: GroupShard, transaction: tuple[int, int], marker: Marker, bumps_epoch: bool
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Write the marker of a transaction; it ends when that is committed, in the order of the log.

        :return: NONE or the error, or a Deferred, which never fails, of it.
        """
        partition = shard.partition
        error = self._writer.stage_marker(partition, transaction, marker, bumps_epoch)
        if error:
            return error
        end = TransactionEnd(shard, transaction[0], marker.committed)
        self.settle({partition: [end]}, self._replicas.write(partition))
        if end.error:
            return end.error
        committed = self.committed(end)
        return ErrorCode.NONE if committed is None else Deferred.fromCoroutine(outcome(committed))


def _batches(commits: Sequence[Commit], max_bytes: int) -> Iterator[Sequence[Commit]]:
    """Split commits into batches that the log takes, mostly one. A commit is never split."""
    first, size = 0, 0
    for number, commit in enumerate(commits):
        if size and size + commit.size_bytes > max_bytes - HEADER_BYTES:
            yield commits[first:number]
            first, size = number, 0
        size += commit.size_bytes
    yield commits[first:]
