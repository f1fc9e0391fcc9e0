"""A partition log over batches that are kept anywhere: the base of the store in memory, and of others.

:class:`BatchLog` provides ``IPartitionLog``. It validates, assigns offsets, rolls, searches, retains and
truncates; the bytes are kept by a :class:`BatchStorage`, which is all that a new kind of store has to write.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol

import attrs
from twisted.internet.defer import Deferred, execute, succeed
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import IPartitionLog, ISegmentFacts, Worker
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.partition.appender import FindRetention, StagedLog
from kafkatx.log.partition.group_commit import GroupCommit
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.segment import record_lookup
from kafkatx.log.segment.scan import parse
from kafkatx.log.segment.segment import BatchInfo
from kafkatx.types import NO_LEADER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, Records, TopicPartition


class BatchStorage(Protocol):
    """Keeps the batches of one partition, each as the bytes that a fetch sends.

    :meth:`sync` is called in a worker, everything else in the reactor thread, where nothing may wait for a
    disk or a network. A batch is known by its ``kafkatx.log.segment.segment.BatchInfo``: ``base_offset`` and
    ``last_offset`` (inclusive), ``size`` in bytes, ``max_timestamp`` in ms. Batches are given in the order of
    their offsets, and those of one call follow one another.
    """

    lasting: bool
    """True if batches outlive the process. Else what is added counts as flushed."""

    def load(self) -> Iterable[bytes]:
        """Return every batch, or its first 61 bytes, by offset; called once, before anything else.

        :raises OSError: they cannot be read.
        """

    def add(self, batches: Sequence[tuple[BatchInfo, bytes]]) -> None:
        """Keep batches, all of them or none.

        :raises OSError: none is kept.
        """

    def get(self, batches: Sequence[BatchInfo]) -> bytes:
        """Return the bytes of batches, one after another.

        :raises OSError: they cannot be read.
        """

    def drop(self, batches: Sequence[BatchInfo]) -> None:
        """Forget batches: the first ones of the partition, or the last ones.

        :raises OSError: they are still there.
        """

    def sync(self) -> None:
        """Bring to the disk all that was added before the call; runs in a worker.

        :raises OSError: it may not be there.
        """


@implementer(ISegmentFacts)
@attrs.define
class Chunk:
    """The batches of one segment, without their bytes; what retention decides on."""

    base_offset: int
    created_ms: int
    size_bytes: int = 0
    max_timestamp: int = NO_TIMESTAMP
    written: list[BatchInfo] = attrs.field(factory=list)
    last_offsets: list[int] = attrs.field(factory=list)

    @property
    def max_timestamp_ms(self) -> int:
        """As ISegmentFacts says; there is no file, so the time when the chunk was begun."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.created_ms

    def add(self, written: BatchInfo) -> None:
        """Append a batch."""
        self.written.append(written)
        self.last_offsets.append(written.last_offset)
        self.size_bytes += written.size
        self.max_timestamp = max(self.max_timestamp, written.max_timestamp)

    def cut(self, number: int) -> None:
        """Keep the first *number* batches."""
        del self.written[number:], self.last_offsets[number:]
        self.size_bytes = sum(batch.size for batch in self.written)
        self.max_timestamp = max((batch.max_timestamp for batch in self.written), default=NO_TIMESTAMP)


@implementer(IPartitionLog)
class BatchLog(StagedLog):
    """One partition's batches, in chunks of ``segment.bytes``; see the module.

    :param storage: keeps the bytes; what it has already is read at once.
    :param worker: runs its ``sync``.
    :param log_start_offset: what the store has noted when the log was open last; 0 for a new one.
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
    ) -> None:
        producers, epochs = ProducerStateManager(), LeaderEpochCache()
        self._clock = clock
        self._storage = storage
        self._worker = worker
        self._commit = GroupCommit(self._begin_sync)
        self._cuts = 0
        self.size_bytes = 0
        self.segments = [Chunk(0, self._now_ms())]
        end_offset = log_start_offset
        for data in storage.load():
            end_offset = max(end_offset, self._restore(data, config, producers, epochs))
        super().__init__(
            topic_partition, config, find_retention, producers, epochs, log_start_offset, end_offset
        )
        self._flushed_offset = end_offset

    def _restore(
        self, data: bytes, config: LogConfig, producers: ProducerStateManager, epochs: LeaderEpochCache
    ) -> int:
        """Take in a batch that is there already; return the offset after it."""
        header = parse(data, 0, 0)
        written = BatchInfo(header.size, header.base_offset, header.last_offset, header.max_timestamp)
        if not self.segments[-1].written:
            self.segments[-1].base_offset = written.base_offset
        self._index(written, config, self._now_ms())
        self.size_bytes += written.size
        if header.leader_epoch != NO_LEADER_EPOCH:
            epochs.assign(header.leader_epoch, header.base_offset)
        if header.producer_id != NO_PRODUCER_ID:
            producers.record(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.base_offset,
                header.last_offset,
                self._now_ms(),
            )
        return written.last_offset + 1

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)

    # --- writing

    def write(self) -> None:
        """As IPartitionLog says."""
        if not self._staged:
            return
        # The request's buffer is used again: this is the copy that a disk would have made.
        buffers = self._buffers
        batches = [
            (written, b"".join(buffers[2 * number : 2 * number + 2]))
            for number, written in enumerate(self._staged)
        ]
        try:
            self._storage.add(batches)
        except OSError:
            self._unstage()
            raise
        for epoch, start_offset in self._epoch_starts:
            self._epochs.assign(epoch, start_offset)
        for written in self._staged:
            self._index(written, self.config, self._staged_ms)
        self.size_bytes += self._staged_bytes
        self.log_end_offset = self._next_offset
        self._clear_stage()

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
        """As IPartitionLog says."""
        active = self.segments[-1]
        if active.written and now_ms - active.created_ms > self.config.segment_ms:
            self._add_chunk(self.log_end_offset, now_ms)

    # --- flushing

    @property
    def flushed_offset(self) -> int:
        """As IPartitionLog says; the log's end where nothing outlives the process."""
        return self._flushed_offset if self._storage.lasting else self.log_end_offset

    def flush(self) -> Deferred[int]:
        """As IPartitionLog says. Fails with OSError if the storage cannot bring it to the disk."""
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
        """As IPartitionLog says; always whole batches, of one chunk.

        :raises OSError: the storage cannot be read.
        """
        self._check_range(offset)
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

    def _number_of(self, offset: int) -> int:
        return max(bisect_right(self.segments, offset, key=_base_offset) - 1, 0)

    def readable_bytes(self, offset: int, end_offset: int) -> int:
        """As IPartitionLog says."""
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
        """As IPartitionLog says: a storage answers without waiting."""
        return None

    def offset_for_timestamp(self, timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """As IPartitionLog says."""
        return execute(self._offset_for_timestamp, timestamp_ms)

    def _offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        for chunk in self.segments:
            if chunk.max_timestamp < timestamp_ms:
                continue
            for written in chunk.written:
                if written.max_timestamp < timestamp_ms or written.last_offset < self.log_start_offset:
                    continue
                data = memoryview(self._storage.get((written,)))
                record = record_lookup.first_at_or_after(
                    data, timestamp_ms, self.log_start_offset, self.config.inflated_limit_bytes
                )
                if record is not None:
                    return record.offset, record.timestamp, self.epoch_at(record.offset)
        return None

    def max_timestamp(self) -> Deferred[tuple[int, int, int] | None]:
        """As IPartitionLog says."""
        return execute(self._max_timestamp)

    def _max_timestamp(self) -> tuple[int, int, int] | None:
        candidates: list[BatchInfo] = []
        for chunk in self.segments:
            for written in chunk.written:
                if written.last_offset < self.log_start_offset:
                    continue
                newer = not candidates or written.max_timestamp > candidates[-1].max_timestamp
                # Of the batch that the log starts in, the newest record may be out of reach.
                if newer or candidates[-1].base_offset < self.log_start_offset:
                    candidates.append(written)
        newest = record_lookup.newest_of(
            record_lookup.newest(
                memoryview(self._storage.get((written,))),
                self.log_start_offset,
                self.config.inflated_limit_bytes,
            )
            for written in candidates[:1] + candidates[-1:]
        )
        return None if newest is None else (newest.offset, newest.timestamp, self.epoch_at(newest.offset))

    # --- cutting

    def truncate_to(self, offset: int) -> None:
        """As IPartitionLog says.

        :raises OSError: the storage could not drop what is to go; the log is as it was.
        """
        self._unstage()
        if offset >= self.log_end_offset:
            return
        chunks = self.segments
        self._storage.drop([one for chunk in chunks for one in chunk.written if one.last_offset >= offset])
        while len(chunks) > 1 and chunks[-1].base_offset >= offset:
            chunks.pop()
        chunks[-1].cut(bisect_left(chunks[-1].last_offsets, offset))
        chunks[-1].base_offset = min(chunks[-1].base_offset, offset)
        self.size_bytes = sum(chunk.size_bytes for chunk in chunks)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.log_end_offset = self._next_offset = offset
        self._flushed_offset = min(self._flushed_offset, offset)
        self._cuts += 1
        self._epochs.cut_end(offset)
        self._leader_epoch = self._epochs.latest
        self._producers.truncate(offset)

    def advance_log_start(self, offset: int) -> None:
        """As IPartitionLog says.

        :raises RequestError: OFFSET_OUT_OF_RANGE: beyond the log's end.
        :raises OSError: the storage could not drop what is to go; it is not seen any more.
        """
        if offset > self.log_end_offset:
            self._check_range(offset)
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        if offset == self.log_end_offset and self.segments[-1].written:
            self._add_chunk(offset, self._now_ms())
        self._drop(self._number_of(offset))

    def retain(self, now_ms: int) -> int:
        """As IPartitionLog says.

        :raises OSError: the storage could not drop what is to go; it is not seen any more.
        """
        self._producers.expire(now_ms, self.config.producer_id_expiration_ms)
        if "delete" not in self.config.cleanup_policy:
            return 0
        count = self._retention.expired(self.segments, self.config, now_ms)
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

    def _drop(self, count: int) -> None:
        gone = self.segments[:count]
        if not gone:
            return
        self._storage.drop([written for chunk in gone for written in chunk.written])
        self.size_bytes -= sum(chunk.size_bytes for chunk in gone)
        del self.segments[:count]
        self._epochs.cut_start(self.log_start_offset)


def _base_offset(chunk: Chunk) -> int:
    return chunk.base_offset
