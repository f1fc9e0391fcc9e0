"""Appends to a partition log: validation, offsets, producer sequences, staging. Pure: writes nothing.

An :class:`Appender` belongs to a log in files (:class:`~kafkatx.log.partition.file_log.FileLog`) or in any
other storage (:class:`~kafkatx.log.batch_log.BatchLog`). It stages batches; the
log writes all of them at once and then calls :meth:`Appender.written` or :meth:`Appender.discard`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct

from kafkatx.config.log_config import FULL, LogConfig
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IRetentionPolicy
from kafkatx.interfaces.storage import TRUSTED
from kafkatx.log.append.content import (
    Allowance,
    ValidatedRecords,
    ValidationRequired,
    must_look,
    validate_batch,
    validate_small_batch,
)
from kafkatx.log.append.follower import check_batches
from kafkatx.log.append.result import Appended, StagedChanges, Undo, failed
from kafkatx.log.append.validator import (
    check_frame,
    check_message_set,
    check_small_message_set,
    stamped,
    topic_codec,
)
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import ProducerBatch, ProducerState, ProducerStateManager, active_producers
from kafkatx.log.segment.batches import BatchInfo, StagedBatches
from kafkatx.records.batch import HEADER, HEADER_BYTES
from kafkatx.records.checksum import crc32c
from kafkatx.records.record_checks import LEAST_RECORD_BYTES, is_one_record
from kafkatx.types import ActiveProducer, TopicPartition

FindRetention = Callable[[str], IRetentionPolicy]

_PREFIX = Struct(">qii")
"""Base offset, length, partition leader epoch: all that changes in a plain batch."""
_PREFIX_BYTES = 16
_HIGHEST_CODEC = 4
_START = Struct(HEADER.format + "BB")
"""A batch's header and the first two bytes of its first record, which is most often its length."""
_new_tuple = tuple.__new__
"""Makes a named tuple in a third of the time of its own constructor, which calls this."""


class Appender:
    """Validates batches, assigns their offsets, and stages them.

    :ivar producers: the producers' state, including that of staged batches.
    :ivar staged: the batches that are to be written.
    :ivar changes: what the log has to change before it writes the staged batches; None: nothing.
    :ivar next_offset: the offset that the next record gets.
    :param epochs: the epochs of written batches; read here, changed by the log.
    """

    __slots__ = (
        "_after_max_ms",
        "_allowance",
        "_before_max_ms",
        "_bounded",
        "_codec",
        "_config",
        "_epochs",
        "_highest_plain_codec",
        "_inflated_limit_bytes",
        "_leader_epoch",
        "_max_message_bytes",
        "_most_producers",
        "_name",
        "_plain",
        "_undo",
        "changes",
        "next_offset",
        "producers",
        "staged",
    )

    def __init__(
        self,
        name: TopicPartition,
        config: LogConfig,
        producers: ProducerStateManager,
        epochs: LeaderEpochCache,
        log_end_offset: int,
    ) -> None:
        self._name = name
        self.producers = producers
        self._epochs = epochs
        self.staged = StagedBatches()
        self.next_offset = log_end_offset
        self.changes: StagedChanges | None = None
        self._undo: list[Undo] = []
        self._leader_epoch = epochs.latest
        self._allowance = Allowance()
        self.configure(config)

    def configure(self, config: LogConfig) -> None:
        """Validate by *config* from now on."""
        self._config = config
        self._codec = topic_codec(config)
        self._plain = (
            not config.compacted
            and not config.log_append_time
            and self._codec is None
            and config.records_validation != FULL
        )
        self._bounded = config.checks_records
        self._highest_plain_codec = 0 if config.checks_records else _HIGHEST_CODEC
        self._inflated_limit_bytes = config.inflated_limit_bytes
        self._max_message_bytes = config.max_message_bytes
        self._before_max_ms = config.message_timestamp_before_max_ms
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._most_producers = config.producer_ids_max

    # --- appending

    def append(
        self,
        records: bytes | memoryview,
        leader_epoch: int,
        now_ms: int,
        one_batch: bool,
        validated: object = None,
    ) -> Appended | ValidationRequired:
        """See IPartitionLog. A plain batch costs one unpacking, one CRC and 16 new bytes."""
        size = len(records)
        if not self._plain or not one_batch or size < _START.size:
            return self._append_otherwise(records, leader_epoch, now_ms, one_batch, validated)
        (
            _,
            length,
            _,
            magic,
            crc,
            attributes,
            delta,
            first_ms,
            newest_ms,
            producer_id,
            epoch,
            sequence,
            count,
            start,
            after,
        ) = _START.unpack_from(records)
        view = memoryview(records)
        if (
            magic != 2
            or length + 12 != size
            or size > self._max_message_bytes
            or not 0 <= attributes <= self._highest_plain_codec
            or not 0 <= delta == count - 1
            or not now_ms - self._before_max_ms <= first_ms
            or newest_ms > now_ms + self._after_max_ms
            or newest_ms < first_ms
            or count * LEAST_RECORD_BYTES
            > (self._inflated_limit_bytes if attributes else size - HEADER_BYTES)
            or crc32c(view[21:]) != crc
            or (
                self._bounded
                and (
                    now_ms >= self._allowance.open_ms
                    or (
                        # One record: its length, most often of one byte or two, is all that follows.
                        not delta
                        and (start + 124 if start < 128 else start + (after << 7) - 2 if after < 128 else 0)
                        != size + size
                        and not is_one_record(view)
                    )
                )
            )
        ):
            return self._append_otherwise(records, leader_epoch, now_ms, one_batch, validated)
        if leader_epoch != self._leader_epoch:
            leader_epoch = self._advance_epoch(leader_epoch)
        base_offset = self.next_offset
        last_offset = base_offset + delta
        if producer_id >= 0:
            refused = self._admit(producer_id, epoch, sequence, count, base_offset, now_ms)
            if refused is not None:
                return refused
        staged = self.staged
        staged.buffers += (_PREFIX.pack(base_offset, length, leader_epoch), view[_PREFIX_BYTES:])
        staged.batches.append(_new_tuple(BatchInfo, (size, base_offset, last_offset, newest_ms)))
        staged.size_bytes += size
        staged.append_ms = now_ms
        self.next_offset = last_offset + 1
        return _new_tuple(Appended, (0, None, base_offset, last_offset, -1, ()))

    def _admit(
        self, producer_id: int, epoch: int, sequence: int, count: int, base_offset: int, now_ms: int
    ) -> Appended | None:
        """Take an idempotent producer's batch in, or say why not: an error, or a duplicate's offsets."""
        if epoch < 0 or sequence < 0:
            return failed(ErrorCode.INVALID_RECORD, "a producer id without epoch or sequence")
        verdict = self.producers.check(producer_id, epoch, sequence, count)
        if verdict is None:
            last_offset = base_offset + count - 1
            before = self.producers.record(producer_id, epoch, sequence, base_offset, last_offset, now_ms)
            self._undo.append(Undo(base_offset, producer_id, before))
            if len(self.producers.states) > self._most_producers:
                self.producers.forget_oldest()
            return None
        if isinstance(verdict, ProducerBatch):
            append_ms = now_ms if self._config.log_append_time else -1
            return Appended(0, None, verdict.base_offset, verdict.last_offset, append_ms, ())
        return failed(
            verdict,
            f"producer {producer_id} sent epoch {epoch} and sequence {sequence} to {self._name}",
        )

    def _append_otherwise(
        self,
        records: bytes | memoryview,
        leader_epoch: int,
        now_ms: int,
        one_batch: bool,
        validated: object,
    ) -> Appended | ValidationRequired:
        """Append what the straight way does not take, or refuse it."""
        try:
            if one_batch:
                return self._append_batch(memoryview(records), leader_epoch, now_ms, validated)
            return self._append_message_set(memoryview(records), leader_epoch, now_ms, validated)
        except RequestError as error:
            return failed(error.code, str(error), getattr(error, "record_errors", ()))

    def _append_batch(
        self, records: memoryview, leader_epoch: int, now_ms: int, validated: object
    ) -> Appended | ValidationRequired:
        config = self._config
        header = check_frame(records, config, now_ms)
        seen = validated is TRUSTED or isinstance(validated, ValidatedRecords)
        thorough = not seen and self._bounded and self._allowance.take(header.count, now_ms)
        if thorough or (validated is not TRUSTED and (seen or must_look(header, config, self._codec))):
            if validated is None:
                validated = validate_small_batch(records, config, self._codec, thorough)
            if not isinstance(validated, ValidatedRecords) or validated.config is not config:
                return ValidationRequired(partial(validate_batch, records, config, self._codec, thorough))
            if validated.refused is not None:
                if thorough:
                    self._allowance.give_back(header.count)
                return failed(*validated.refused[:3])
            records = memoryview(validated.records)
        header, body = stamped(records, config, now_ms)
        base_offset = self.next_offset
        if header.producer_id >= 0:
            refused = self._admit(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.count,
                base_offset,
                now_ms,
            )
            if refused is not None:
                return refused
        leader_epoch = self._advance_epoch(leader_epoch)
        header = header._replace(base_offset=base_offset, partition_leader_epoch=leader_epoch)
        written = BatchInfo(header.size_bytes, base_offset, header.last_offset, header.max_timestamp)
        self._stage(HEADER.pack(*header), body, written, now_ms)
        append_ms = now_ms if config.log_append_time else -1
        return Appended(0, None, base_offset, header.last_offset, append_ms, ())

    def _append_message_set(
        self, records: memoryview, leader_epoch: int, now_ms: int, validated: object
    ) -> Appended | ValidationRequired:
        base_offset, config = self.next_offset, self._config
        if validated is None:
            validated = check_small_message_set(records, config, self._codec, base_offset, now_ms)
        if (
            not isinstance(validated, ValidatedRecords)
            or validated.config is not config
            or validated.base_offset != base_offset
        ):
            return ValidationRequired(
                partial(check_message_set, records, config, self._codec, base_offset, now_ms)
            )
        if validated.refused is not None:
            return failed(*validated.refused[:3])
        data, info = validated.records, validated.info
        if info is None or not info.count:
            return Appended(0, None, -1, -1, -1, ())
        self._advance_epoch(leader_epoch)
        view = memoryview(data)
        ends = [at.position for at in info.positions[1:]] + [len(data)]
        first = base_offset
        for at, end in zip(info.positions, ends, strict=True):
            written = BatchInfo(end - at.position, first, at.last_offset, at.max_timestamp)
            self._stage(b"", view[at.position : end], written, now_ms)
            first = at.last_offset + 1
        append_ms = now_ms if config.log_append_time else -1
        return Appended(0, None, base_offset, info.last_offset, append_ms, ())

    def append_as_follower(
        self, records: bytes | memoryview, leader_epoch: int, now_ms: int, is_empty: bool
    ) -> int:
        """See IPartitionLog.

        :param is_empty: True if the log has no record.
        """
        view, staged = memoryview(records), self.staged
        is_empty = is_empty and not staged.batches
        found = check_batches(view, self.next_offset, self._leader_epoch, leader_epoch, is_empty)
        if not found.batches:
            return 0
        if found.changes or found.batches[0].base_offset != self.next_offset:
            self._change().add(found)
        self._leader_epoch = found.latest_epoch
        for producer_id, epoch, sequence, base_offset, last_offset in found.sequences:
            before = self.producers.record(producer_id, epoch, sequence, base_offset, last_offset, now_ms)
            self._undo.append(Undo(base_offset, producer_id, before))
        for producer_id, base_offset, is_end in found.transactions:
            if (before := self.producers.note_transaction(producer_id, base_offset, is_end)) is not None:
                self._undo.append(Undo(base_offset, producer_id, before))
        while len(self.producers.states) > self._most_producers:
            self.producers.forget_oldest()
        staged.buffers.append(view[: found.size])
        staged.batches += found.batches
        staged.size_bytes += found.size
        staged.append_ms = now_ms
        self.next_offset = found.next_offset
        return found.size

    def _stage(self, start: bytes, rest: memoryview, batch: BatchInfo, now_ms: int) -> None:
        staged = self.staged
        staged.buffers += (start, rest)
        staged.batches.append(batch)
        staged.size_bytes += batch.size
        staged.append_ms = now_ms
        self.next_offset = batch.last_offset + 1

    def _advance_epoch(self, leader_epoch: int) -> int:
        """Return the epoch to stamp on the next batch: the leader's, or the log's if that one is later.

        Epochs in a log never go back (KIP-101), even if the cluster's state has lost the latest one.
        """
        if leader_epoch > self._leader_epoch:
            self._leader_epoch = leader_epoch
            self._change().epoch_starts.append((leader_epoch, self.next_offset))
        return self._leader_epoch

    def _change(self) -> StagedChanges:
        if self.changes is None:
            batches = self.staged.batches
            self.changes = StagedChanges(batches[0].base_offset if batches else self.next_offset)
        return self.changes

    # --- staged batches

    def written(self) -> None:
        """Forget the staged batches: they are in the log."""
        self.staged.clear()
        self._undo = []
        self.changes = None

    def discard(self) -> None:
        """Undo the staged appends: offsets, producer state and leader epoch are as before them."""
        for undo in reversed(self._undo):
            self.producers.restore(undo.producer_id, undo.state)
        if self.changes is not None:
            self.next_offset = self.changes.log_end_offset
        elif self.staged.batches:
            self.next_offset = self.staged.batches[0].base_offset
        self._leader_epoch = self._epochs.latest
        self.written()

    def restart_at(self, log_end_offset: int, producers: ProducerStateManager) -> None:
        """Continue at the new end of a log that was truncated; nothing is staged."""
        self.next_offset = log_end_offset
        self._leader_epoch = self._epochs.latest
        self.producers = producers

    # --- producers

    def producers_at(self, offset: int) -> dict[int, ProducerState]:
        """Return the producers' states without those of staged batches from *offset* on."""
        earlier = ProducerStateManager()
        earlier.states = self.producers.states.copy()
        for undo in reversed(self._undo):
            if undo.base_offset >= offset:
                earlier.restore(undo.producer_id, undo.state)
        return earlier.states

    def written_producers(self) -> dict[int, ProducerState]:
        """Return the producers' states by written batches only."""
        return self.producers_at(0)

    def active_producers(self) -> list[ActiveProducer]:
        """Return the idempotent producers of written batches, for DescribeProducers."""
        return active_producers(self.written_producers())
