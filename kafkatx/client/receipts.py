"""Telling those who sent records what became of them.

Who sent one record waits for a bare Deferred. Who sent a list has one :class:`ListReceipt`, for it may have
been put into several batches, and these may be cut.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.clientside.batches import Batch
from kafkatx.clientside.outgoing import NO_OFFSET, BatchMetadata, RecordMetadata


class ListReceipt:
    """Waits for all the batches that a list is in.

    :ivar deferred: fires when all of them are in the log; fails when all are settled and one is not.
    """

    __slots__ = ("_base_offset", "_error", "_last_offset", "_left", "_records", "deferred")

    def __init__(self, records: int) -> None:
        self.deferred: Deferred[BatchMetadata] = Deferred()
        self._records = records
        self._left = 1
        self._base_offset = self._last_offset = NO_OFFSET
        self._error: BaseException | None = None

    def cut(self) -> None:
        """One batch more has some of the records."""
        self._left += 1

    def delivered(self, batch: Batch, base_offset: int, count: int, timestamp_ms: int) -> None:
        """Some of the records are in the log: *count*, from *base_offset* on, which may be unknown."""
        self._left -= 1
        if base_offset != NO_OFFSET:
            last_offset = base_offset + count - 1
            if self._base_offset == NO_OFFSET or base_offset < self._base_offset:
                self._base_offset = base_offset
            self._last_offset = max(self._last_offset, last_offset)
        if self._left:
            return
        if self._error is not None:
            self.deferred.errback(self._error)
            return
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

    def failed(self, error: BaseException) -> None:
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

    def cut(self) -> None:
        """One batch more is waited for."""
        self._left += 1

    def delivered(self, *_: object) -> None:
        """One of them is in the log."""
        self._left -= 1
        if not self._left:
            self.deferred.callback(None)

    failed = delivered


def deliver(batch: Batch, base_offset: int, append_time_ms: int) -> None:
    """Tell all whose records are in a batch that they are in the log.

    :param base_offset: of the batch's first record; -1: unknown.
    :param append_time_ms: the broker's time where it replaced the records', else -1.
    """
    topic, partition = batch.topic, batch.partition
    for receipt, first, count, timestamp_ms in batch.each_entry():
        offset = base_offset + first if base_offset >= 0 else NO_OFFSET
        when_ms = timestamp_ms if append_time_ms < 0 else append_time_ms
        if receipt.__class__ is Deferred:
            receipt.callback(RecordMetadata(topic, partition, offset, when_ms))
        else:
            receipt.delivered(batch, offset, count, when_ms)


def disappoint(batch: Batch, error: BaseException) -> None:
    """Tell all whose records are in a batch that it was given up."""
    for receipt in batch.entries[::4]:
        if receipt.__class__ is Deferred:
            receipt.errback(error)
        else:
            receipt.failed(error)
