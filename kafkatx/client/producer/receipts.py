"""Receipts: how the callers of a producer hear what became of their records.

``send`` gives a bare Deferred for its record. ``send_batch`` has one :class:`ListReceipt`, since a list may
be put into several batches, and these may be cut. ``produce`` has a :class:`CallbackReceipt` or none:
:class:`LostRecords` counts the records of failed batches that have no receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.clientcore.errors import RecordsLost
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.values import NO_OFFSET, BatchMetadata, RecordMetadata

OnDelivery = Callable[["Exception | None", "RecordMetadata | None"], object]
"""Called with (None, where the record is) or (why it is not in the log, None)."""

_log = Logger()

T = TypeVar("T")


class CallbackReceipt:
    """Calls a function with the outcome of one record. What it raises is logged."""

    __slots__ = ("_call",)

    def __init__(self, call: OnDelivery) -> None:
        self._call = call

    def delivered(self, batch: ProducerBatch, base_offset: int, count: int, timestamp_ms: int) -> None:
        """The record is in the log."""
        self._call(None, RecordMetadata(batch.topic, batch.partition, base_offset, timestamp_ms))

    def failed(self, error: Exception) -> None:
        """The record was given up."""
        self._call(error, None)


class LostRecords:
    """Records that were given up and had no receipt, until :meth:`take` gives them to a flush."""

    def __init__(self) -> None:
        self._count = 0
        self._next_batch: BaseException | None = None

    def add(self, count: int, error: BaseException) -> None:
        """Count records that were given up because of *error*."""
        if count:
            self._count += count
            self._next_batch = self._next_batch or error

    def take(self) -> RecordsLost | None:
        """Return the error for what was counted, and begin anew; None: nothing was lost."""
        count, first = self._count, self._next_batch
        self._count, self._next_batch = 0, None
        return None if first is None else RecordsLost(count, first)


class ListReceipt:
    """Waits for all the batches that a list is in.

    :ivar deferred: fires when all of them are in the log; fails when all are settled and one is not.
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
        """One batch more has some of the records."""
        self._left += 1

    def delivered(self, batch: ProducerBatch, base_offset: int, count: int, timestamp_ms: int) -> None:
        """Some of the records are in the log: *count*, from *base_offset* on, which may be unknown."""
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
        if self._unknown:  # of a part: the offsets of the whole are not known
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
        """Some of the records were given up."""
        self._left -= 1
        self._error = self._error or error
        if not self._left:
            self.deferred.errback(self._error)


class FlushReceipt:
    """Waits for batches to be settled, one way or the other; who sent the records hears how."""

    __slots__ = ("_left", "deferred")

    def __init__(self) -> None:
        self.deferred: Deferred[None] = Deferred()
        self._left = 1

    def add_batch(self) -> None:
        """One batch more is waited for."""
        self._left += 1

    def delivered(self, *_: object) -> None:
        """One of them is in the log."""
        self._left -= 1
        if not self._left:
            self.deferred.callback(None)

    failed = delivered


def deliver_batch(batch: ProducerBatch, base_offset: int, append_time_ms: int) -> None:
    """Tell the callers whose records are in a batch that they are in the log.

    An error of one caller is logged; the others are told nevertheless.

    :param base_offset: of the batch's first record; -1: unknown.
    :param append_time_ms: the broker's time where it replaced the records', else -1.
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
    """Tell the callers whose records are in a batch that it was given up."""
    entries = batch.entries
    receipts = entries[::4]
    waited_for = sum(
        count
        for receipt, count in zip(receipts, entries[2::4], strict=True)
        if receipt.__class__ is not FlushReceipt
    )
    lost_records.add(batch.count - waited_for, error)  # before a flush hears that all are settled
    failure = Failure(error)  # one for all: it is larger than most records
    for receipt in receipts:
        fail_receipt(receipt, failure)


def fail_receipt(receipt: Any, failure: Failure) -> None:
    """Tell one caller that its records were given up."""
    try:
        if receipt.__class__ is Deferred:
            receipt.errback(failure)
        else:
            receipt.failed(failure.value)
    except Exception:
        _log.failure("a caller of the producer could not be told of its record")


def cancelled(receipt: Any) -> bool:
    """True if the caller has cancelled its Deferred."""
    if receipt.__class__ is Deferred:
        return bool(receipt.called)
    return receipt.__class__ is ListReceipt and bool(receipt.deferred.called)


def reject_records(receipt: Any, error: Exception, lost_records: LostRecords) -> None:
    """Tell one caller that none of its records was put into a batch; unless it has cancelled that.

    :param receipt: None: one record without a receipt.
    """
    if receipt is None:
        lost_records.add(1, error)
    elif not cancelled(receipt):
        fail_receipt(receipt.deferred if receipt.__class__ is ListReceipt else receipt, Failure(error))


def all_settled(waiting: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """Return a Deferred of all results, in order; once all have fired it fails with the first error.

    Cancelling it cancels all of them.
    """

    def done(found: Any) -> Any:
        for succeeded, result in found:
            if not succeeded:
                return result
        return [result for _, result in found]

    return DeferredList(waiting, consumeErrors=True).addCallback(done)
