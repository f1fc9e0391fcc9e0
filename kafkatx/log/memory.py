"""The partition log in memory: for tests, and for topics that need not outlive the broker."""

from __future__ import annotations

import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from twisted.internet.defer import Deferred, execute, succeed
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ILogDir, ILogStore, IPartitionLog, ISegmentFacts, Workers
from kafkatx.log import lookup
from kafkatx.log.epochs import LeaderEpochs
from kafkatx.log.producers import Producers
from kafkatx.log.segment import Written
from kafkatx.log.staging import FindRetention, StagedLog
from kafkatx.types import NO_TIMESTAMP, Records, TopicPartition


@implementer(ISegmentFacts)
@attrs.define
class Chunk:
    """What stands for a segment: batches, and the last offset of each for the search."""

    base_offset: int
    created_ms: int
    size_bytes: int = 0
    max_timestamp: int = NO_TIMESTAMP
    batches: list[bytes] = attrs.field(factory=list)
    written: list[Written] = attrs.field(factory=list)
    last_offsets: list[int] = attrs.field(factory=list)

    @property
    def max_timestamp_ms(self) -> int:
        """As ISegmentFacts says; there is no file, so the time when the chunk was begun."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.created_ms

    def add(self, data: bytes, written: Written) -> None:
        """Append a batch."""
        self.batches.append(data)
        self.written.append(written)
        self.last_offsets.append(written.last_offset)
        self.size_bytes += written.size
        self.max_timestamp = max(self.max_timestamp, written.max_timestamp)

    def cut(self, number: int) -> None:
        """Keep the first *number* batches."""
        del self.batches[number:], self.written[number:], self.last_offsets[number:]
        self.size_bytes = sum(batch.size for batch in self.written)
        self.max_timestamp = max((batch.max_timestamp for batch in self.written), default=NO_TIMESTAMP)


@implementer(IPartitionLog)
class MemoryLog(StagedLog):
    """One partition's batches, in chunks of ``segment.bytes``. Whatever is written counts as flushed."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        config: LogConfig,
        find_retention: FindRetention,
        clock: IReactorTime,
    ) -> None:
        super().__init__(topic_partition, config, find_retention, Producers(), LeaderEpochs(), 0, 0)
        self._clock = clock
        self.segments = [Chunk(0, self._now_ms())]
        self.size_bytes = 0

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)

    @property
    def flushed_offset(self) -> int:
        """As IPartitionLog says: there is no disk to lag behind."""
        return self.log_end_offset

    # --- writing

    def write(self) -> None:
        """As IPartitionLog says; it cannot fail."""
        if not self._staged:
            return
        for epoch, start_offset in self._epoch_starts:
            self._epochs.assign(epoch, start_offset)
        for number, written in enumerate(self._staged):
            active = self.segments[-1]
            if active.batches and active.size_bytes + written.size > self.config.segment_bytes:
                active = self._add_chunk(written.base_offset, self._staged_ms)
            # The request's buffer is used again: this is the copy that a disk would have made.
            active.add(b"".join(self._buffers[2 * number : 2 * number + 2]), written)
        self.size_bytes += self._staged_bytes
        self.log_end_offset = self._next_offset
        self._clear_stage()

    def _add_chunk(self, base_offset: int, now_ms: int) -> Chunk:
        chunk = Chunk(base_offset, now_ms)
        self.segments.append(chunk)
        return chunk

    def roll_if_due(self, now_ms: int) -> None:
        """As IPartitionLog says."""
        active = self.segments[-1]
        if active.batches and now_ms - active.created_ms > self.config.segment_ms:
            self._add_chunk(self.log_end_offset, now_ms)

    # --- reading

    def read(self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool) -> Records:
        """As IPartitionLog says; always whole batches."""
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
            return b"".join(chunk.batches[first:last])
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
        """As IPartitionLog says: all is in memory."""
        return None

    def offset_for_timestamp(self, timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """As IPartitionLog says."""
        return execute(self._offset_for_timestamp, timestamp_ms)

    def _offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        for chunk in self.segments:
            if chunk.max_timestamp < timestamp_ms:
                continue
            for data, written in zip(chunk.batches, chunk.written, strict=True):
                if written.max_timestamp < timestamp_ms or written.last_offset < self.log_start_offset:
                    continue
                record = lookup.first_at_or_after(memoryview(data), timestamp_ms, self.log_start_offset)
                if record is not None:
                    return record.offset, record.timestamp, self.epoch_at(record.offset)
        return None

    def max_timestamp(self) -> Deferred[tuple[int, int, int] | None]:
        """As IPartitionLog says."""
        return execute(self._max_timestamp)

    def _max_timestamp(self) -> tuple[int, int, int] | None:
        candidates: list[tuple[Written, bytes]] = []
        for chunk in self.segments:
            for written, data in zip(chunk.written, chunk.batches, strict=True):
                if written.last_offset < self.log_start_offset:
                    continue
                newer = not candidates or written.max_timestamp > candidates[-1][0].max_timestamp
                # Of the batch that the log starts in, the newest record may be out of reach.
                if newer or candidates[-1][0].base_offset < self.log_start_offset:
                    candidates.append((written, data))
        newest = lookup.newest_of(
            lookup.newest(memoryview(data), self.log_start_offset)
            for written, data in candidates[:1] + candidates[-1:]
        )
        return None if newest is None else (newest.offset, newest.timestamp, self.epoch_at(newest.offset))

    def flush(self) -> Deferred[int]:
        """As IPartitionLog says: at once."""
        return succeed(self.log_end_offset)

    # --- cutting

    def truncate_to(self, offset: int) -> None:
        """As IPartitionLog says."""
        self._unstage()
        if offset >= self.log_end_offset:
            return
        chunks = self.segments
        while len(chunks) > 1 and chunks[-1].base_offset >= offset:
            chunks.pop()
        chunks[-1].cut(bisect_left(chunks[-1].last_offsets, offset))
        chunks[-1].base_offset = min(chunks[-1].base_offset, offset)
        self.size_bytes = sum(chunk.size_bytes for chunk in chunks)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.log_end_offset = self._next_offset = offset
        self._epochs.cut_end(offset)
        self._leader_epoch = self._epochs.latest
        self._producers.truncate(offset)

    def advance_log_start(self, offset: int) -> None:
        """As IPartitionLog says.

        :raises RequestError: OFFSET_OUT_OF_RANGE: beyond the log's end.
        """
        if offset > self.log_end_offset:
            self._check_range(offset)
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        if offset == self.log_end_offset and self.segments[-1].batches:
            self._add_chunk(offset, self._now_ms())
        self._drop(self._number_of(offset))

    def retain(self, now_ms: int) -> int:
        """As IPartitionLog says."""
        self._producers.expire(now_ms, self.config.producer_id_expiration_ms)
        if "delete" not in self.config.cleanup_policy:
            return 0
        count = self._retention.expired(self.segments, self.config, now_ms)
        if count >= len(self.segments):
            count = len(self.segments)
            if self.segments[-1].batches:
                self._add_chunk(self.log_end_offset, now_ms)
            else:
                count -= 1
        if count:
            self.log_start_offset = max(self.log_start_offset, self.segments[count].base_offset)
            self._drop(count)
        return count

    def _drop(self, count: int) -> None:
        self.size_bytes -= sum(chunk.size_bytes for chunk in self.segments[:count])
        del self.segments[:count]
        self._epochs.cut_start(self.log_start_offset)


def _base_offset(chunk: Chunk) -> int:
    return chunk.base_offset


@implementer(ILogStore)
class MemoryLogStore:
    """Logs that end with the process."""

    def __init__(
        self, config: Any, workers: Workers, clock: IReactorTime, find_retention: FindRetention
    ) -> None:
        self._clock = clock
        self._find_retention = find_retention
        self._logs: dict[TopicPartition, MemoryLog] = {}
        self._topic_ids: dict[TopicPartition, uuid.UUID] = {}
        self.dirs: tuple[ILogDir, ...] = ()
        self.on_offline: Callable[[ILogDir], None] | None = None

    @property
    def logs(self) -> Mapping[TopicPartition, MemoryLog]:
        """As ILogStore says."""
        return self._logs

    def open(self, log_config: Callable[[str], LogConfig]) -> Deferred[None]:
        """As ILogStore says."""
        return succeed(None)

    def configure(self, config: Any) -> None:
        """As ILogStore says: nothing of it is needed here."""

    def check(self, config: LogConfig) -> None:
        """As ILogStore says."""
        self._find_retention(config.retention_policy)

    def create(
        self, topic_partition: TopicPartition, topic_id: uuid.UUID, config: LogConfig
    ) -> Deferred[IPartitionLog]:
        """As ILogStore says."""
        log = self._logs.get(topic_partition)
        if log is None or self._topic_ids[topic_partition] != topic_id:
            log = MemoryLog(topic_partition, config, self._find_retention, self._clock)
            self._logs[topic_partition] = log
            self._topic_ids[topic_partition] = topic_id
        return succeed(log)

    def topic_id(self, topic_partition: TopicPartition) -> uuid.UUID:
        """As ILogStore says."""
        return self._topic_ids[topic_partition]

    def delete(self, topic_partition: TopicPartition) -> Deferred[None]:
        """As ILogStore says."""
        self._logs.pop(topic_partition, None)
        self._topic_ids.pop(topic_partition, None)
        return succeed(None)

    def checkpoint(self) -> Deferred[None]:
        """As ILogStore says: nothing to write down."""
        return succeed(None)

    def checkpoint_log_start(self, topic_partition: TopicPartition) -> Deferred[None]:
        """As ILogStore says: what is dropped is gone."""
        return succeed(None)

    def relocate(self, topic_partition: TopicPartition, path: str) -> None:
        """As ILogStore says: there are no dirs here."""
        raise RequestError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path}: logs in memory are in no dir")

    def clean(self, now_ms: int) -> Deferred[bool]:
        """As ILogStore says: nothing is compacted, logs in memory end soon enough."""
        return succeed(False)

    def close(self) -> Deferred[None]:
        """As ILogStore says."""
        return succeed(None)
