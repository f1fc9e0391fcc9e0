"""Receipts: how the callers of a producer learn the outcome of their records. Pure, but for the log.

``send`` returns a bare Deferred for its record. ``send_batch`` has one :class:`ListReceipt`, since a list may
span several batches, and batches may be split. ``produce`` has a :class:`CallbackReceipt` or none:
:class:`LostRecords` counts the records of failed batches that have no receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.clientcore.errors import RecordsLost
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.values import NO_OFFSET, BatchMetadata, RecordMetadata

OnDelivery = Callable[["Exception | None", "RecordMetadata | None"], object]
"""Called with (None, metadata) when the record is in the log, or with (error, None)."""

_log = Logger()

T = TypeVar("T")


class CallbackReceipt:
    """Calls a function with the outcome of one record. Its exceptions are logged."""

    __slots__ = ("_call",)

    def __init__(self, call: OnDelivery) -> None:
        self._call = call

    def delivered(self, batch: ProducerBatch, base_offset: int, count: int, timestamp_ms: int) -> None:
        """Call the function: the record is in the log."""
        self._call(None, RecordMetadata(batch.topic, batch.partition, base_offset, timestamp_ms))

    def failed(self, error: Exception) -> None:
        """Call the function: the record has failed."""
        self._call(error, None)


class LostRecords:
    """The count of records that failed without a receipt, until :meth:`take` reports it to a flush.

    :ivar on_failure: called with the error of each batch and record that fails, with a receipt or without.
    """

    def __init__(self) -> None:
        self.on_failure: Callable[[Exception], None] = lambda error: None
        self._count = 0
        self._first_error: BaseException | None = None

    def add(self, count: int, error: BaseException) -> None:
        """Count records that failed with *error*."""
        if count:
            self._count += count
            self._first_error = self._first_error or error

    def take(self) -> RecordsLost | None:
        """Return the error for the records counted so far, and reset the count; None: there are none."""
        count, first = self._count, self._first_error
        self._count, self._first_error = 0, None
        return None if first is None else RecordsLost(count, first)


class ListReceipt:
    """Waits for all batches that hold records of one list.

    :ivar deferred: fires when all of them are in the log; fails when all are settled and one has failed.
    """

    __slots__ = ("_base_offset", "_error", "_last_offset", "_left", "_records", "_unknown", "deferred")

    def __init__(self, records: int) -> None:
        self.deferred: Deferred[BatchMetadata] = Deferred()
        self._records = records
        self._left = 1
        self._base_offset = self._last_offset = NO_OFFSET
        self._unknown = False
        self._error: BaseException | None = None

    def add_batch(self) -> None:
        """Wait for one more batch."""
        self._left += 1

    def delivered(self, batch: ProducerBatch, base_offset: int, count: int, timestamp_ms: int) -> None:
        """Settle one batch: *count* records are in the log, from *base_offset* on (-1: unknown)."""
        self._left -= 1
        if base_offset == NO_OFFSET:
            self._unknown = True
        else:
            last_offset = base_offset + count - 1
            if self._base_offset == NO_OFFSET or base_offset < self._base_offset:
                self._base_offset = base_offset
            self._last_offset = max(self._last_offset, last_offset)
        if self._left:
            return
        if self._error is not None:
            self.deferred.errback(self._error)
            return
        if self._unknown:  # of one batch: then the range of all of them is unknown, too
            self._base_offset = self._last_offset = NO_OFFSET
        self.deferred.callback(
            BatchMetadata(
                batch.topic,
                batch.partition,
                self._base_offset,
                self._last_offset,
                self._records,
                timestamp_ms,
            )
        )

    def failed(self, error: Exception) -> None:
        """Settle one batch: it has failed."""
        self._left -= 1
        self._error = self._error or error
        if not self._left:
            self.deferred.errback(self._error)


class FlushReceipt:
    """Waits until some batches are settled, whether they are in the log or have failed."""

    __slots__ = ("_left", "deferred")

    def __init__(self) -> None:
        self.deferred: Deferred[None] = Deferred()
        self._left = 1

    def add_batch(self) -> None:
        """Wait for one more batch."""
        self._left += 1

    def delivered(self, *_: object) -> None:
        """Settle one batch."""
        self._left -= 1
        if not self._left:
            self.deferred.callback(None)

    failed = delivered


AnyReceipt: TypeAlias = (
    "Deferred[RecordMetadata] | Deferred[None] | CallbackReceipt | ListReceipt | FlushReceipt | None"
)
"""The receipts that batches carry for their callers; None: the caller wants no answer."""


def deliver_batch(batch: ProducerBatch, base_offset: int, append_time_ms: int) -> None:
    """Fire the receipts of a batch that is in the log.

    An exception of one caller's callback is logged, and the others are called nevertheless.

    :param base_offset: of the batch's first record; -1: unknown.
    :param append_time_ms: the broker's timestamp where it replaced the records', else -1.
    """
    topic, partition = batch.topic, batch.partition
    make = tuple.__new__
    for receipt, first, count, timestamp_ms in batch.each_entry():
        offset = base_offset + first if base_offset >= 0 else NO_OFFSET
        when_ms = timestamp_ms if append_time_ms < 0 else append_time_ms
        try:
            if receipt.__class__ is Deferred:
                receipt.callback(make(RecordMetadata, (topic, partition, offset, when_ms)))
            else:
                receipt.delivered(batch, offset, count, when_ms)
        except Exception:
            _log.failure("a caller of the producer could not be told of its record")


def fail_batch(batch: ProducerBatch, error: Exception, lost_records: LostRecords) -> None:
    """Fail the receipts of a batch, and count its records that have none."""
    lost_records.on_failure(error)
    entries = batch.entries
    receipts = entries[::4]
    waited_for = sum(
        count
        for receipt, count in zip(receipts, entries[2::4], strict=True)
        if receipt.__class__ is not FlushReceipt
    )
    lost_records.add(batch.count - waited_for, error)  # before a FlushReceipt fires
    failure = Failure(error)  # one for all: it is larger than most records
    for receipt in receipts:
        fail_receipt(receipt, failure)


def fail_receipt(receipt: AnyReceipt, failure: Failure) -> None:
    """Fail one receipt; its exceptions are logged."""
    try:
        if isinstance(receipt, Deferred):
            receipt.errback(failure)
        elif receipt is not None and isinstance(failure.value, Exception):
            receipt.failed(failure.value)
    except Exception:
        _log.failure("a caller of the producer could not be told of its record")


def cancelled(receipt: AnyReceipt) -> bool:
    """Return True if the caller has cancelled its Deferred."""
    if isinstance(receipt, Deferred):
        return bool(receipt.called)
    return isinstance(receipt, ListReceipt) and bool(receipt.deferred.called)


def reject_records(receipt: AnyReceipt, error: Exception, lost_records: LostRecords) -> None:
    """Fail one caller whose records are in no batch, unless it has cancelled its Deferred.

    :param receipt: None: one record without a receipt.
    """
    lost_records.on_failure(error)
    if receipt is None:
        lost_records.add(1, error)
    elif isinstance(receipt, ListReceipt):
        if not receipt.deferred.called:
            receipt.deferred.errback(error)
    elif not cancelled(receipt):
        fail_receipt(receipt, Failure(error))


def all_settled(waiting: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """Gather the results, in order; wait for all Deferreds even if some fail, then fail with the first error.

    Cancelling it cancels all of them.
    """

    def done(outcomes: list[tuple[bool, Any]]) -> Any:
        for succeeded, result in outcomes:
            if not succeeded:
                return result
        return [result for _, result in outcomes]

    return DeferredList(waiting, consumeErrors=True).addCallback(done)
