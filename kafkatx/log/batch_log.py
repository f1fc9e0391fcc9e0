"""A partition log over any storage of batches: the base of the store in memory, and of other stores.

:class:`BatchLog` provides ``IPartitionLog``. It validates, assigns offsets, rolls, searches, retains and
truncates. A :class:`BatchStorage` keeps the bytes; it is all that a new kind of store has to implement.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from twisted.internet.defer import Deferred, execute, succeed
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import RequestError
from kafkatx.interfaces import IPartitionLog, Worker
from kafkatx.interfaces.storage import NO_LIMIT
from kafkatx.log.append.appender import Appender, FindRetention
from kafkatx.log.batches.chunk import Chunk
from kafkatx.log.batches.producers import cut_producers
from kafkatx.log.batches.search import first_at_or_after, newest
from kafkatx.log.batches.storage import BatchStorage as BatchStorage
from kafkatx.log.group_commit import GroupCommit
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.partition.reader import out_of_range
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.segment.batches import BatchInfo, Parts
from kafkatx.log.segment.scan import parse
from kafkatx.log.transactions.ended import EndedTransactions, replay
from kafkatx.records.batch import Record
from kafkatx.types import NO_LEADER_EPOCH, ActiveProducer, Records, TopicPartition


@implementer(IPartitionLog)
class BatchLog:
    """One partition's log over a :class:`BatchStorage`, in chunks of ``segment.bytes``.

    :param storage: keeps the bytes; its batches are loaded at once.
    :param worker: runs its ``sync``.
    :param log_start_offset: the one that the store has saved; 0 for a new log.
    :param keep_log_start: saves the log start offset, before the last batches are dropped: from nothing else
        could the next process tell where the log ends.
    :raises OSError: the storage cannot be read.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        config: LogConfig,
        find_retention: FindRetention,
        clock: IReactorTime,
        storage: BatchStorage,
        worker: Worker,
        log_start_offset: int = 0,
        keep_log_start: Callable[[int], None] = lambda offset: None,
    ) -> None:
        self.topic_partition = topic_partition
        self.config = config
        self.deletable_end = NO_LIMIT
        self.on_flushed: Callable[[], None] | None = None
        self._find_retention = find_retention
        self._retention = find_retention(config.retention_policy)
        self._clock = clock
        self._storage = storage
        self._keep_log_start = keep_log_start
        self._worker = worker
        self._commit = GroupCommit(self._begin_sync)
        self._cuts = 0
        self._epochs = LeaderEpochCache()
        self.size_bytes = 0
        self.segments = [Chunk(0, self._now_ms())]
        producers, self._transactions = ProducerStateManager(), EndedTransactions()
        end_offset = log_start_offset
        for data in storage.load():
            end_offset = max(end_offset, self._restore(data, config, producers))
        self._epochs.cut_start(log_start_offset)
        self.log_start_offset = log_start_offset
        self.log_end_offset = self._flushed_offset = end_offset
        self._appender = Appender(
            topic_partition, config, producers, self._transactions, self._epochs, end_offset
        )
        self.append, self.discard = self._appender.append, self._appender.discard
        self.append_marker, self.written = self._appender.append_marker, self._appender.counts
        self.has_transaction = self._appender.has_transaction

    def configure(self, config: LogConfig) -> None:
        """See IPartitionLog."""
        self.config = config
        self._retention = self._find_retention(config.retention_policy)
        self._appender.configure(config)

    def _restore(self, data: bytes, config: LogConfig, producers: ProducerStateManager) -> int:
        """Add a batch of the storage; return the offset after it."""
        header = parse(data, 0, 0)
        written = BatchInfo(header.size, header.base_offset, header.last_offset, header.max_timestamp)
        if not self.segments[-1].written:
            self.segments[-1].base_offset = written.base_offset
        self._index(written, config, self._now_ms())
        self.size_bytes += written.size
        if header.leader_epoch != NO_LEADER_EPOCH:
            self._epochs.assign(header.leader_epoch, header.base_offset)
        if header.magic < 2:
            self._epochs.cut_end(0)
        ended = replay(producers, header, lambda: self._storage.get((written,)), self._now_ms())
        if ended is not None:
            self._transactions.add((ended,), 0)
        return written.last_offset + 1

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)

    # --- writing

    def write(self) -> None:
        """See IPartitionLog."""
        staged = self._appender.staged
        if not staged.batches:
            return
        # The request's buffer is used again: this is the copy that a disk would have made.
        buffers, changes = staged.buffers, self._appender.changes
        if len(buffers) == 2 * len(staged.batches):
            # All of them are from producers: a fetch reply is one buffer with one batch or more.
            pair = iter(buffers)
            batches = [(batch, b"".join((next(pair), next(pair)))) for batch in staged.batches]
        else:
            parts = Parts(buffers)
            batches = [(batch, b"".join(parts.take(batch.size))) for batch in staged.batches]
        try:
            self._storage.add(batches)
        except OSError:
            self._appender.discard()
            raise
        if changes is not None:
            if changes.forgets_epochs:
                self._epochs.cut_end(0)
            for epoch, start_offset in changes.epoch_starts:
                self._epochs.assign(epoch, start_offset)
            if staged.batches[0].base_offset < self.log_end_offset:
                self.segments[:] = [Chunk(staged.batches[0].base_offset, staged.append_ms)]
        for batch in staged.batches:
            self._index(batch, self.config, staged.append_ms)
        self.size_bytes += staged.size_bytes
        self.log_end_offset = self._appender.next_offset
        if changes is not None and changes.ended:
            self._transactions.add(changes.ended, min(self.flushed_offset, self.deletable_end))
        self._appender.written()

    def begin_epoch(self, leader_epoch: int) -> None:
        """See IPartitionLog: kept in memory only."""
        if self._appender.staged.batches:
            raise RuntimeError("staged records must be written before a leader epoch begins")
        self._epochs.assign(leader_epoch, self.log_end_offset)
        self._appender.discard()

    def append_as_follower(self, records: bytes | memoryview, leader_epoch: int) -> int:
        """See IPartitionLog."""
        return self._appender.append_as_follower(
            records, leader_epoch, self._now_ms(), self.log_start_offset == self.log_end_offset
        )

    def _index(self, written: BatchInfo, config: LogConfig, now_ms: int) -> None:
        active = self.segments[-1]
        if active.written and active.size_bytes + written.size > config.segment_bytes:
            active = self._add_chunk(written.base_offset, now_ms)
        active.add(written)

    def _add_chunk(self, base_offset: int, now_ms: int) -> Chunk:
        chunk = Chunk(base_offset, now_ms)
        self.segments.append(chunk)
        return chunk

    def roll_if_due(self, now_ms: int) -> None:
        """See IPartitionLog."""
        active = self.segments[-1]
        if active.written and now_ms - active.created_ms > self.config.segment_ms:
            self._add_chunk(self.log_end_offset, now_ms)

    # --- flushing

    @property
    def flushed_offset(self) -> int:
        """See IPartitionLog; the log's end where nothing outlives the process."""
        return self._flushed_offset if self._storage.lasting else self.log_end_offset

    def flush(self) -> Deferred[int]:
        """See IPartitionLog. Fails with OSError if the storage cannot bring it to the disk."""
        if self.flushed_offset >= self.log_end_offset:
            return succeed(self.flushed_offset)
        return self._commit.join()

    def _begin_sync(self) -> Deferred[int]:
        return self._worker(self._storage.sync).addCallback(self._flushed, self.log_end_offset, self._cuts)

    def _flushed(self, _: object, target: int, cuts: int) -> int:
        # After a cut the offsets below the target may be others than those that were synced.
        if cuts == self._cuts and target > self._flushed_offset:
            self._flushed_offset = target
            if self.on_flushed is not None:
                self.on_flushed()
        return self.flushed_offset

    # --- reading

    def read(self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool) -> Records:
        """See IPartitionLog; always whole batches, of one chunk.

        :raises OSError: the storage cannot be read.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise self._out_of_range(offset)
        for chunk in self.segments[self._number_of(offset) :]:
            first = bisect_left(chunk.last_offsets, offset)
            end = bisect_left(chunk.last_offsets, end_offset)
            if first >= end:
                continue
            size, last = 0, first
            while last < end and size + chunk.written[last].size <= max_bytes:
                size += chunk.written[last].size
                last += 1
            if last == first and at_least_one:
                last += 1
            return self._storage.get(chunk.written[first:last]) if last > first else b""
        return b""

    def _out_of_range(self, offset: int) -> RequestError:
        return out_of_range(self.topic_partition, offset, self.log_start_offset, self.log_end_offset)

    def _number_of(self, offset: int) -> int:
        return max(bisect_right(self.segments, offset, key=_base_offset) - 1, 0)

    def readable_bytes(self, offset: int, end_offset: int) -> int:
        """See IPartitionLog."""
        total = 0
        for chunk in self.segments[self._number_of(offset) :]:
            first = bisect_left(chunk.last_offsets, max(offset, self.log_start_offset))
            end = bisect_left(chunk.last_offsets, end_offset)
            if not first and end == len(chunk.written):
                total += chunk.size_bytes
            else:
                total += sum(batch.size for batch in chunk.written[first:end])
        return total

    def warm(self, offset: int, max_bytes: int) -> Deferred[None] | None:
        """See IPartitionLog: a storage answers without waiting."""
        return None

    def offset_for_timestamp(self, timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """See IPartitionLog."""
        return execute(
            self._with_epoch, first_at_or_after, self.segments, self._storage, timestamp_ms, *self._limits()
        )

    def max_timestamp(self) -> Deferred[tuple[int, int, int] | None]:
        """See IPartitionLog."""
        return execute(self._with_epoch, newest, self.segments, self._storage, *self._limits())

    def _limits(self) -> tuple[int, int]:
        return self.log_start_offset, self.config.inflated_limit_bytes

    def _with_epoch(
        self, find: Callable[..., Record | None], *arguments: object
    ) -> tuple[int, int, int] | None:
        record = find(*arguments)
        return None if record is None else (record.offset, record.timestamp, self.epoch_at(record.offset))

    # --- epochs and producers

    def epoch_at(self, offset: int) -> int:
        """See IPartitionLog."""
        return self._epochs.at(offset)

    @property
    def latest_epoch(self) -> int:
        """See IPartitionLog."""
        return self._epochs.latest

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """See IPartitionLog."""
        return self._epochs.end_of(leader_epoch, self.log_end_offset)

    def active_producers(self) -> list[ActiveProducer]:
        """See IPartitionLog: written records only."""
        return self._appender.active_producers()

    def last_stable_offset(self, high_watermark: int) -> int:
        """See IPartitionLog."""
        return self._appender.last_stable_offset(high_watermark, self.log_start_offset)

    def aborted_transactions(
        self, offset: int, end_offset: int, most: int
    ) -> tuple[int, list[tuple[int, int]]]:
        """See IPartitionLog."""
        return self._transactions.aborted.among(offset, end_offset, most)

    # --- cutting

    def truncate_to(self, offset: int) -> None:
        """See IPartitionLog.

        :raises OSError: the storage could not drop what is to go; the log is as it was.
        """
        self._appender.discard()
        if offset >= self.log_end_offset:
            self._epochs.cut_end(self.log_end_offset)
            self._appender.discard()
            return
        chunks = self.segments
        if offset < self.log_start_offset:
            self._keep_log_start(offset)
        self._storage.drop([one for chunk in chunks for one in chunk.written if one.last_offset >= offset])
        while len(chunks) > 1 and chunks[-1].base_offset >= offset:
            chunks.pop()
        chunks[-1].cut(bisect_left(chunks[-1].last_offsets, offset))
        chunks[-1].base_offset = min(chunks[-1].base_offset, offset)
        self.size_bytes = sum(chunk.size_bytes for chunk in chunks)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.log_end_offset = offset
        self._flushed_offset = min(self._flushed_offset, offset)
        self._cuts += 1
        self._epochs.cut_end(offset)
        producers = cut_producers(self._appender.producers, offset, chunks, self._storage, self._now_ms())
        self._appender.restart_at(offset, producers)

    def restart_at(self, offset: int) -> None:
        """See IPartitionLog.

        :raises OSError: the storage could not drop what is to go; the log is as it was.
        """
        self._appender.discard()
        self._keep_log_start(offset)
        self._storage.drop([one for chunk in self.segments for one in chunk.written])
        self.segments[:] = [Chunk(offset, self._now_ms())]
        self.size_bytes = 0
        self.log_start_offset = self.log_end_offset = self._flushed_offset = offset
        self._cuts += 1
        self._epochs.cut_end(0)
        self._transactions.clear()
        self._appender.restart_at(offset, ProducerStateManager())

    def advance_log_start(self, offset: int) -> None:
        """See IPartitionLog.

        :raises RequestError: OFFSET_OUT_OF_RANGE: beyond the log's end.
        :raises OSError: the storage could not drop what is to go; it is not seen any more.
        """
        if offset > self.log_end_offset:
            raise self._out_of_range(offset)
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        if offset == self.log_end_offset and self.segments[-1].written:
            self._add_chunk(offset, self._now_ms())
        self._drop(self._number_of(offset))

    def retain(self, now_ms: int) -> int:
        """See IPartitionLog.

        :raises OSError: the storage could not drop what is to go; it is not seen any more.
        """
        self._appender.producers.expire(now_ms, self.config.producer_id_expiration_ms)
        if "delete" not in self.config.cleanup_policy:
            return 0
        count = self._retention.expired(self.segments, self.config, now_ms)
        while count and self._end_of(count - 1) > self.deletable_end:
            count -= 1
        if count >= len(self.segments):
            count = len(self.segments)
            if self.segments[-1].written:
                self._add_chunk(self.log_end_offset, now_ms)
            else:
                count -= 1
        if count:
            self.log_start_offset = max(self.log_start_offset, self.segments[count].base_offset)
            self._drop(count)
        return count

    def _end_of(self, number: int) -> int:
        """Return the offset after those of a segment."""
        last = number + 1 >= len(self.segments)
        return self.log_end_offset if last else self.segments[number + 1].base_offset

    def _drop(self, count: int) -> None:
        gone = self.segments[:count]
        if gone:
            if not any(chunk.written for chunk in self.segments[count:]):
                self._keep_log_start(self.log_start_offset)
            self._storage.drop([written for chunk in gone for written in chunk.written])
            self.size_bytes -= sum(chunk.size_bytes for chunk in gone)
            del self.segments[:count]
            self._transactions.aborted.cut_before(self.log_start_offset)
        self._epochs.cut_start(self.log_start_offset)


def _base_offset(chunk: Chunk) -> int:
    return chunk.base_offset
