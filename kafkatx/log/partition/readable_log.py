"""The part of a log in files that reads: records by offset and by time, epochs, producers, sizes.

:class:`~kafkatx.log.partition.file_log.FileLog` inherits it and changes what it reads.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.config.log_config import LogConfig
from kafkatx.log.append.appender import Appender
from kafkatx.log.partition.epoch_checkpoint import EpochCheckpoint
from kafkatx.log.partition.local_log import LocalLog
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.partition.reader import LogReader, out_of_range
from kafkatx.log.partition.syncer import Syncer
from kafkatx.log.transactions.aborted import AbortedTransaction
from kafkatx.records.batch import Record
from kafkatx.types import ActiveProducer, Records, TopicPartition


class ReadableLog:
    """A log that can be read; its methods are those of IPartitionLog."""

    topic_partition: TopicPartition
    config: LogConfig
    log_start_offset: int
    log_end_offset: int
    deletable_end: int
    _appender: Appender
    _clock: IReactorTime
    _epochs: EpochCheckpoint
    _local: LocalLog
    _location: LogLocation
    _reader: LogReader
    _syncer: Syncer

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)

    @property
    def directory(self) -> str:
        """The absolute path of the partition's directory."""
        return self._location.directory

    @property
    def size_bytes(self) -> int:
        """See IPartitionLog."""
        return self._local.size_bytes

    @property
    def flushed_offset(self) -> int:
        """See IPartitionLog: Kafka's recovery point."""
        return self._syncer.flushed_offset

    @property
    def first_dirty_offset(self) -> int:
        """The log is compacted up to here (exclusive)."""
        return self._local.first_dirty_offset

    @property
    def cuts(self) -> int:
        """The number of times that the log was truncated at its end."""
        return self._local.cuts

    def read(self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool) -> Records:
        """See IPartitionLog."""
        log_end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= log_end_offset:
            raise out_of_range(self.topic_partition, offset, self.log_start_offset, log_end_offset)
        if end_offset > log_end_offset:
            end_offset = log_end_offset
        if offset >= end_offset:
            return b""
        return self._reader.read(offset, max_bytes, end_offset, at_least_one, log_end_offset)

    def readable_bytes(self, offset: int, end_offset: int) -> int:
        """See IPartitionLog: exact between positions that were asked for, else to an index entry."""
        end_offset = min(end_offset, self.log_end_offset)
        offset = max(offset, self.log_start_offset)
        if offset >= end_offset:
            return 0
        return self._reader.readable_bytes(offset, end_offset, self.log_end_offset)

    def warm(self, offset: int, max_bytes: int) -> Deferred[None] | None:
        """See IPartitionLog."""
        if not self.log_start_offset <= offset < self.log_end_offset:
            return None
        return self._reader.warm(offset, max_bytes)

    def offset_for_timestamp(self, timestamp_ms: int) -> Deferred[tuple[int, int, int] | None]:
        """See IPartitionLog."""
        return self._reader.first_at_or_after(
            timestamp_ms, self.log_start_offset, self.log_end_offset, self.config.inflated_limit_bytes
        ).addCallback(self._with_epoch)

    def max_timestamp(self) -> Deferred[tuple[int, int, int] | None]:
        """See IPartitionLog."""
        return self._reader.newest(
            self.log_start_offset, self.log_end_offset, self.config.inflated_limit_bytes
        ).addCallback(self._with_epoch)

    def _with_epoch(self, record: Record | None) -> tuple[int, int, int] | None:
        return None if record is None else (record.offset, record.timestamp, self.epoch_at(record.offset))

    def epoch_at(self, offset: int) -> int:
        """See IPartitionLog."""
        return self._epochs.cache.at(offset)

    @property
    def latest_epoch(self) -> int:
        """See IPartitionLog."""
        return self._epochs.cache.latest

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """See IPartitionLog."""
        return self._epochs.cache.end_of(leader_epoch, self.log_end_offset)

    # --- producers and transactions

    def active_producers(self) -> list[ActiveProducer]:
        """See IPartitionLog: written records only."""
        return self._appender.active_producers()

    def last_batches(self) -> dict[int, int]:
        """Return producer id -> last offset of the last batch that it wrote, where one is known."""
        states = self._appender.written_producers()
        return {key: state.batches[-1].last_offset for key, state in states.items() if state.batches}

    def marker_epochs(self) -> dict[int, int]:
        """Return producer id -> epoch of the producers of which no batch is known, but a marker."""
        states = self._appender.written_producers()
        return {key: state.epoch for key, state in states.items() if not state.batches}

    def all_aborted(self, end_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions with records below *end_offset*, by their markers."""
        return [one for one in self._appender.transactions.aborted if one.first_offset < end_offset]

    def has_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """See IPartitionLog."""
        return self._appender.has_transaction(producer_id, producer_epoch)

    def _committed_end(self) -> int:
        """Return an offset that the high watermark has reached."""
        end_offset = self.flushed_offset if self.config.exposes_flushed else self.log_end_offset
        return min(end_offset, self.deletable_end)

    def last_stable_offset(self, high_watermark: int) -> int:
        """See IPartitionLog."""
        return self._appender.last_stable_offset(high_watermark, self.log_start_offset)

    def aborted_transactions(
        self, offset: int, end_offset: int, most: int
    ) -> tuple[int, list[tuple[int, int]]]:
        """See IPartitionLog."""
        return self._appender.transactions.aborted.among(offset, end_offset, most)
