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
from kafkatx.log.append.result import Appended, Undo, failed
from kafkatx.log.append.staged_appends import StagedAppends
from kafkatx.log.append.validator import (
    check_frame,
    check_message_set,
    check_small_message_set,
    stamped,
    topic_codec,
)
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.producer_state import ProducerBatch, ProducerStateManager
from kafkatx.log.segment.batches import BatchInfo
from kafkatx.log.transactions.ended import EndedTransactions
from kafkatx.records.batch import HEADER, HEADER_BYTES, LOG_OVERHEAD
from kafkatx.records.checksum import crc32c
from kafkatx.records.control import build_marker
from kafkatx.records.record_checks import LEAST_RECORD_BYTES, is_one_record
from kafkatx.types import Marker, TopicPartition

FindRetention = Callable[[str], IRetentionPolicy]

_PREFIX = Struct(">qii")
"""Base offset, length, partition leader epoch: all that changes in a plain batch."""
_PREFIX_BYTES = 16
_HIGHEST_CODEC = 4
_START = Struct(HEADER.format + "BB")
"""A batch's header and the first two bytes of its first record, which is most often its length."""
_new_tuple = tuple.__new__
"""Makes a named tuple in a third of the time of its own constructor, which calls this."""


class Appender(StagedAppends):
    """Validates batches, assigns their offsets, and stages them."""

    __slots__ = (
        "_after_max_ms",
        "_allowance",
        "_before_max_ms",
        "_bounded",
        "_codec",
        "_config",
        "_highest_plain_codec",
        "_inflated_limit_bytes",
        "_max_message_bytes",
        "_name",
        "_plain",
    )

    def __init__(
        self,
        name: TopicPartition,
        config: LogConfig,
        producers: ProducerStateManager,
        transactions: EndedTransactions,
        epochs: LeaderEpochCache,
        log_end_offset: int,
    ) -> None:
        super().__init__(producers, transactions, epochs, log_end_offset)
        self._name = name
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
        verified: bool = False,
    ) -> Appended | ValidationRequired:
        """See IPartitionLog. A plain batch costs one unpacking, one CRC and 16 new bytes."""
        size = len(records)
        if not self._plain or not one_batch or size < _START.size:
            return self._append_otherwise(records, leader_epoch, now_ms, one_batch, validated, verified)
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
            return self._append_otherwise(records, leader_epoch, now_ms, one_batch, validated, verified)
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
        self,
        producer_id: int,
        epoch: int,
        sequence: int,
        count: int,
        base_offset: int,
        now_ms: int,
        transactional: bool = False,
        trusted: bool = False,
    ) -> Appended | None:
        """Take an idempotent producer's batch in, or say why not: an error, or a duplicate's offsets.

        :param trusted: the broker itself writes it for a producer: the offsets of a group (TxnOffsetCommit).
        """
        producers = self.producers
        verdict: ProducerBatch | ErrorCode | None
        if trusted and transactional:
            verdict = producers.check_epoch(producer_id, epoch)
        elif epoch < 0 or sequence < 0:
            return failed(ErrorCode.INVALID_RECORD, "a producer id without epoch or sequence")
        else:
            verdict = producers.check(producer_id, epoch, sequence, count)
        if verdict is None:
            if producers.open and not transactional and producer_id in producers.open:
                return failed(
                    ErrorCode.INVALID_TXN_STATE,
                    f"producer {producer_id} has an open transaction, and sent a batch outside of it",
                )
            last_offset = base_offset + count - 1
            before = producers.record(
                producer_id, epoch, sequence, base_offset, last_offset, now_ms, transactional
            )
            self._undo.append(Undo(base_offset, producer_id, before))
            if len(producers.states) > self._most_producers:
                self._forget_producers()
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
        verified: bool,
    ) -> Appended | ValidationRequired:
        """Append what the straight way does not take, or refuse it."""
        try:
            if one_batch:
                return self._append_batch(memoryview(records), leader_epoch, now_ms, validated, verified)
            return self._append_message_set(memoryview(records), leader_epoch, now_ms, validated)
        except RequestError as error:
            return failed(error.code, str(error), getattr(error, "record_errors", ()))

    def _append_batch(
        self, records: memoryview, leader_epoch: int, now_ms: int, validated: object, verified: bool
    ) -> Appended | ValidationRequired:
        config = self._config
        header = check_frame(records, config, now_ms, verified)
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
                header.transactional,
                validated is TRUSTED,
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

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        marker: Marker,
        leader_epoch: int,
        now_ms: int,
        bumps_epoch: bool = False,
    ) -> Appended:
        """See IPartitionLog."""
        refused = self.producers.check_marker(producer_id, producer_epoch, marker, bumps_epoch)
        if refused is not None:
            return failed(
                refused,
                f"a marker for producer {producer_id}, epoch {producer_epoch}, of coordinator epoch"
                f" {marker.coordinator_epoch}, came to {self._name}",
            )
        leader_epoch, offset = self._advance_epoch(leader_epoch), self.next_offset
        data = memoryview(build_marker(producer_id, producer_epoch, marker, now_ms))
        start = _PREFIX.pack(offset, len(data) - LOG_OVERHEAD, leader_epoch)
        self._end_transaction(producer_id, producer_epoch, marker, offset, now_ms)
        self._stage(start, data[_PREFIX_BYTES:], BatchInfo(len(data), offset, offset, now_ms), now_ms)
        return Appended(0, None, offset, offset, -1, ())
