"""One mirrored partition that this broker leads: what to ask its source for, and what to do with an answer.

It touches the partition and its log, and reads the clock.
:mod:`~kafkatx.broker.mirror.source_fetcher` has the connection and the loop,
:mod:`~kafkatx.broker.mirror.resumption` compares the log with the source's before the first fetch.

=====================================================  ===================================================
an answer                                              its effect
=====================================================  ===================================================
to another leader epoch of this broker's or the        none
source's, to an offset that is not the log's end any
more, or the topic's record says not to mirror
OFFSET_OUT_OF_RANGE, a diverging epoch                 the logs are compared again
an error of a source whose leader has changed          the source's metadata is asked for; then the same
another error, damaged records                         a pause
records of a later leader epoch than this broker's,    the epoch is raised first, and they are asked for again
from a source that is too old to tell its epoch
records, or none                                       they are appended as they are and written, if the lease
                                                       lasts; the log start follows
=====================================================  ===================================================

The record of the topic (:mod:`kafkatx.config.mirror_record`) alone decides if something is appended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.partition import Partition
from kafkatx.clientcore.admin.mirror_status import FIRST_DERIVED_PRODUCER_ID, MirrorStatus
from kafkatx.clientcore.backoff import Backoff
from kafkatx.config.mirror_record import MirrorRecord, MirrorState
from kafkatx.errors import CorruptRecords, ErrorCode
from kafkatx.net.limited_log import LimitedLog
from kafkatx.records.header import HEADER_BYTES, LEADER_EPOCH_AT, LENGTH_AT, LOG_OVERHEAD, MAGIC, MAGIC_AT
from kafkatx.types import NO_LEADER_EPOCH, FileSlice
from kafkatx.wire.messages.fetch import FetchPartition, PartitionData

MOVED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    }
)
"""The errors of a source whose leader has changed, or whose topic was deleted: new metadata tell more."""

FEW_FAILURES = 5
"""So many pauses in a row are usual when a leader changes."""

PRODUCERS_AGAIN_S = 600.0
"""The producers of a log are looked at again after this time, so that none expires unseen."""


@attrs.frozen
class Source:
    """The leader of a partition in the source cluster.

    :ivar leader_epoch: -1 if the source is too old to tell.
    """

    leader: int
    leader_epoch: int


class MirroredPartition:
    """A partition that this broker leads and that has the record of a mirror.

    :ivar record: the topic's record, as this broker knows it.
    :ivar source: the leader in the source cluster; None while that is unknown, or nothing is to be fetched.
    :ivar resumed: the source and the own leader epoch for which the logs were compared; None: before that.
    :ivar not_before_s: the end of the pause after an error, by the clock.
    :ivar wanted_epoch: the leader epoch of records that could not be appended yet.
    :ivar reason: what hinders it, for a person; empty if nothing does.
    :ivar on_moved: called when the source's metadata should be asked for again.
    :ivar on_flushed: called when a flush has ended for which the next fetch has waited.
    """

    def __init__(
        self,
        partition: Partition,
        record: MirrorRecord,
        replicas: ReplicaManager,
        clock: IReactorTime,
        backoff: Backoff,
        limited_log: LimitedLog,
    ) -> None:
        self.partition = partition
        self.record = record
        self.source: Source | None = None
        self.resumed: tuple[Source | None, int] | None = None
        self.not_before_s = 0.0
        self.wanted_epoch = -1
        self.reason = self._alarm = ""
        self.on_moved: Callable[[], object] = lambda: None
        self.on_flushed: Callable[[], object] = lambda: None
        self._replicas = replicas
        self._clock = clock
        self._backoff = backoff
        self._limited_log = limited_log
        self._failures = 0
        self._flushing: Deferred[Any] | None = None
        self._source_start = self._source_end = -1
        self._bytes_copied = 0
        self._last_batch_s = clock.seconds()
        self._max_producer_id = self._open_transaction = -1
        self._producers_at = (-1, 0.0)

    # --- what to do

    @property
    def may_append(self) -> bool:
        """True if this broker leads the partition, and the topic's record says that the link fills it."""
        partition = self.partition
        return not partition.error and partition.mirror is not None and partition.mirror.fetched

    @property
    def is_resumed(self) -> bool:
        """True if the log agrees with that of the source's leader: fetching may go on."""
        return self.resumed == (self.source, self.partition.leader_epoch)

    def is_ready(self) -> bool:
        """Return True if something may be asked for now."""
        if not self.may_append or self.source is None:
            return False
        if self._flushing is None and self.partition.must_flush:
            self._flushing = self.partition.log.flush()
            self._flushing.addBoth(self._flushed)  # perhaps at once
        return self._flushing is None and self.not_before_s <= self._clock.seconds()

    def _flushed(self, result: object) -> None:
        self._flushing = None
        if isinstance(result, Failure):
            self.pause(f"its log failed: {result.getErrorMessage()}")
        self.on_flushed()

    def lead_from(self, source: Source | None) -> None:
        """Note the source's leader, as its metadata say."""
        if source != self.source:
            self.source = source
            self.not_before_s = 0.0

    def ask(self, max_bytes: int) -> FetchPartition:
        """Return the part of a fetch request for this partition, which is ready and resumed."""
        assert self.source is not None
        log = self.partition.log
        return FetchPartition(
            self.partition.topic_partition.partition,
            self.source.leader_epoch,
            log.log_end_offset,
            log.latest_epoch,
            -1,
            max_bytes,
        )

    # --- answers

    def take(self, asked_offset: int, answer: PartitionData) -> int:
        """Take the answer to a fetch, by the table above; return the number of bytes appended.

        :param asked_offset: the fetch offset that it answers.
        """
        if not (self.may_append and self.is_resumed):
            return 0
        if self.partition.log.log_end_offset != asked_offset:
            return 0
        code = ErrorCode.of(answer.error_code)
        found = answer.diverging_epoch
        if code == ErrorCode.OFFSET_OUT_OF_RANGE or (
            not code and found is not None and found.end_offset >= 0
        ):
            self.compare_again()
        elif code in MOVED:
            self.moved(code)
        elif code:
            self.pause(f"the source answers {code.name}")
        else:
            return self._append(answer)
        return 0

    def moved(self, code: ErrorCode) -> None:
        """Ask the source for its leader again; people are told if that helps nothing."""
        self.compare_again()
        self.on_moved()
        self.pause(f"the source answers {code.name}", patient=True)

    def compare_again(self) -> None:
        """Compare the logs again before the next fetch."""
        self.resumed = None

    def _append(self, answer: PartitionData) -> int:
        size = 0
        if answer.records:
            assert not isinstance(answer.records, FileSlice)  # it was received
            size = self._append_records(memoryview(answer.records))
            if not size:
                return 0
        self._source_end = answer.high_watermark
        self.follow_start(answer.log_start_offset)
        self.recover()
        return size

    def _append_records(self, records: memoryview) -> int:
        """Append and write records; return their size, 0 if that failed."""
        partition = self.partition
        log = partition.log
        try:
            size: int = log.append_as_follower(records, partition.leader_epoch)
        except CorruptRecords as error:
            log.discard()
            latest = latest_epoch_in(records)
            assert self.source is not None
            if self.source.leader_epoch == NO_LEADER_EPOCH and latest > partition.leader_epoch:
                self.wanted_epoch = latest
                self.compare_again()
            else:
                self.pause(f"what the source has sent cannot be appended: {error}")
            return 0
        failed = self._replicas.write(partition).get(partition) if size else None
        if failed is not None or not size:
            self.pause(f"its log failed: {failed}" if failed else "the source sends less than one batch")
            return 0
        self._bytes_copied += size
        self._last_batch_s = self._clock.seconds()
        return size

    def follow_start(self, source_start: int) -> None:
        """Delete what the source has deleted, as far as it is committed here."""
        self._source_start = max(self._source_start, source_start)
        partition = self.partition
        start = min(source_start, partition.high_watermark)
        if start > partition.log.log_start_offset:
            try:
                partition.log.advance_log_start(start)
            except OSError as error:
                self.pause(f"its log failed: {error}")
                return
            partition.wake()

    # --- pauses

    def recover(self) -> None:
        """Note that all is well."""
        self._failures = 0
        if self.reason:
            self.explain("")

    def pause(self, reason: str, patient: bool = False) -> None:
        """Ask again later.

        :param reason: what people are told.
        :param patient: True if it may be over soon: people are told only if it goes on.
        """
        self.not_before_s = self._clock.seconds() + self._backoff.pause_s(self._failures)
        self._failures += 1
        if not patient or self._failures > FEW_FAILURES:
            self.explain(reason)

    def explain(self, reason: str) -> None:
        """Say what hinders the mirror; one line of the log for each change."""
        if reason == self.reason:
            return
        self.reason = reason
        name = self.partition.topic_partition
        if reason:
            self._limited_log.warn(
                "{partition} is not mirrored for now: {reason}", partition=name, reason=reason
            )
        else:
            self._limited_log.info("{partition} is mirrored again", partition=name)

    def note_cut(self, offset: int, end_offset: int) -> None:
        """Tell people from now on that the log was cut, since the source has lost records."""
        self._alarm = (
            f"the source has lost records: this log was cut from offset {end_offset} to {offset} to agree"
        )
        self._last_batch_s = self._clock.seconds()

    # --- status

    @property
    def is_stopped(self) -> bool:
        """True if nothing is appended by the record; before a promotion the own epoch is above the log's."""
        if self.record.state is MirrorState.PROMOTING:
            return self.partition.leader_epoch > self.partition.log.latest_epoch
        return not self.record.fetched

    def status(self) -> MirrorStatus:
        """Return the status, now."""
        partition, record = self.partition, self.record
        log = partition.log
        self.look_at_producers()
        behind = self._source_end > log.log_end_offset
        waited_ms = int((self._clock.seconds() - self._last_batch_s) * 1000)
        return MirrorStatus(
            record.link,
            partition.topic_partition.topic,
            partition.topic_partition.partition,
            record.state.value,
            self.reason or self._alarm or record.reason,
            partition.leader_epoch,
            self.is_stopped,
            record.attempt,
            -1 if self.source is None else self.source.leader,
            log.latest_epoch,
            self._source_start,
            self._source_end,
            log.log_start_offset,
            log.log_end_offset,
            partition.high_watermark,
            (waited_ms if behind else 0) if self._source_end >= 0 else -1,
            self._bytes_copied,
            self._max_producer_id,
            self._open_transaction,
        )

    def look_at_producers(self) -> None:
        """Take note of the producers of the log, if it has changed."""
        log, now_s = self.partition.log, self._clock.seconds()
        if self._producers_at[0] == log.log_end_offset:
            return
        self._producers_at = (log.log_end_offset, now_s)
        producers = log.active_producers()
        handed_out = (one.producer_id for one in producers if one.producer_id < FIRST_DERIVED_PRODUCER_ID)
        highest = max(handed_out, default=-1)
        self._max_producer_id = max(self._max_producer_id, highest)
        open_ = [one.txn_start_offset for one in producers if one.txn_start_offset >= 0]
        self._open_transaction = min(open_, default=-1)

    def look_at_producers_in_time(self) -> None:
        """Take note of producers before they expire."""
        if self._clock.seconds() - self._producers_at[1] >= PRODUCERS_AGAIN_S:
            self.look_at_producers()


def latest_epoch_in(records: memoryview) -> int:
    """Return the latest leader epoch that whole batches name; -1 if none does. No checksum covers it."""
    at, latest = 0, NO_LEADER_EPOCH
    while at + HEADER_BYTES <= len(records):
        if records[at + MAGIC_AT] == MAGIC:
            latest = max(latest, _int32(records, at + LEADER_EPOCH_AT))
        size = _int32(records, at + LENGTH_AT)
        if size < 0:
            break
        at += LOG_OVERHEAD + size
    return latest


def _int32(records: memoryview, at: int) -> int:
    return int.from_bytes(records[at : at + 4], "big", signed=True)
