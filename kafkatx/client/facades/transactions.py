"""The transactions of a producer in the facades for asyncio and for threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.client.facades.call_queue import CallQueue
from kafkatx.client.facades.forwarder import AsyncioFacade, BlockingFacade, ForwardCall
from kafkatx.client.facades.future import DeferredFuture
from kafkatx.client.producer import producer
from kafkatx.client.producer.transactions.block import TransactionBlock
from kafkatx.clientcore.errors import RecordsLost
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.producer.transactions.errors import AbortRequired
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

Offsets = Mapping[TopicPartition, int | OffsetAndMetadata]

_log = Logger()


class AsyncioTransactions(AsyncioFacade):
    """See :class:`kafkatx.client.producer.transactions.calls.TransactionCalls`."""

    begin = ForwardCall(producer.Producer.begin)
    in_transaction = ForwardCall(producer.Producer.in_transaction)

    def send_offsets(self, offsets: Offsets, group: ConsumerGroupMetadata | str) -> DeferredFuture[None]:
        """Commit a group's offsets with the transaction."""
        return DeferredFuture(self.client.send_offsets(offsets, group))

    def commit(self) -> DeferredFuture[None]:
        """Send all records of the transaction, and commit it."""
        return DeferredFuture(self.client.commit())

    def abort(self) -> DeferredFuture[None]:
        """Abort the transaction; records that are not acknowledged fail."""
        return DeferredFuture(self.client.abort())

    def transaction(self) -> TransactionBlock:
        """Return a block for ``async with``: it commits, or aborts if an exception leaves it."""
        return TransactionBlock(self.begin, self.commit, self.abort, self.in_transaction)


class BlockingTransactions(BlockingFacade):
    """See :class:`kafkatx.client.producer.transactions.calls.TransactionCalls`.

    A transaction belongs to the producer, not to a thread: records that other threads send meanwhile are
    parts of it.
    """

    _calls: CallQueue

    begin = ForwardCall(producer.Producer.begin)
    in_transaction = ForwardCall(producer.Producer.in_transaction)

    def send_offsets(self, offsets: Offsets, group: ConsumerGroupMetadata | str) -> None:
        """Commit a group's offsets with the transaction."""
        self._wait(lambda: self.client.send_offsets(offsets, group))

    def commit(self) -> None:
        """Send all records of earlier calls, and commit the transaction."""
        self._end_transaction(lambda: self.client.commit())

    def abort(self) -> None:
        """Abort the transaction; records that are not acknowledged fail."""
        self._end_transaction(lambda: self.client.abort())
        with suppress(RecordsLost):  # they were parts of the transaction
            self._do(self._calls.check)

    def _end_transaction(self, end: Callable[[], Deferred[None]]) -> None:
        async def call() -> None:
            await self._calls.wait_until_empty()
            await end()

        self._wait(lambda: Deferred.fromCoroutine(call()))

    def transaction(self) -> BlockingTransaction:
        """Return a block for ``with``: it commits, or aborts if an exception leaves it."""
        return BlockingTransaction(self)


class BlockingTransaction:
    """One transaction as a block of a program that blocks."""

    def __init__(self, calls: BlockingTransactions) -> None:
        self._calls = calls

    def __enter__(self) -> None:
        self._calls.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._calls.in_transaction():
            return
        if error is None:
            try:
                self._calls.commit()
            except AbortRequired:
                self._calls.abort()
                raise
            return
        try:
            self._calls.abort()
        except KafkaTXError:
            _log.failure("a transaction was not aborted, its time-out will do it")
