"""The calls of a transactional producer, which the producer inherits."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkatx.client.producer.topic_queues import TopicQueues
from kafkatx.client.producer.transactions.block import TransactionBlock
from kafkatx.client.producer.transactions.transactions import Transactions
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.transactions.errors import TransactionMisuse
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

_log = Logger()


class TransactionCalls:
    """Transactions, of a producer with ``transactional.id``::

        async with producer.transaction():
            await producer.send("totals", b"7")
            await producer.send_offsets({TopicPartition("events", 0): 42}, consumer.group_metadata())

    Readers with ``isolation.level=read_committed`` see all records of a transaction or none.
    """

    _transactions: Transactions | None
    _open_batches: dict[str, ProducerBatch]
    _topic_queues: TopicQueues
    _plain: bool

    def begin(self) -> None:
        """Open a transaction: all records until its end are a part of it.

        :raises TransactionMisuse: one is open, the producer is not started, or has no ``transactional.id``.
        :raises TransactionsEnded: the producer was fenced: close it.
        """
        self._transactional().begin()
        if self._plain:
            self._open_batches = self._topic_queues.open_batches

    def send_offsets(
        self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata], group: ConsumerGroupMetadata | str
    ) -> Deferred[None]:
        """Commit a group's offsets with the transaction: they count if it is committed.

        :param offsets: the offsets of the next records to be read.
        :param group: :meth:`Consumer.group_metadata`, or the name of a group without members.
        :return: fires when the coordinator has them. Fails with AbortRequired: they were refused, because
            the partitions are assigned to other members now, for example; or as :meth:`begin`.
        """
        wanted = {
            TopicPartition(*place): at if isinstance(at, OffsetAndMetadata) else OffsetAndMetadata(at)
            for place, at in offsets.items()
        }
        committer = ConsumerGroupMetadata(group) if isinstance(group, str) else group

        async def call() -> None:
            await self._transactional().send_offsets(wanted, committer)

        return Deferred.fromCoroutine(call())

    def commit(self) -> Deferred[None]:
        """Send all records of the transaction, and commit it.

        :return: fires when it is committed. Fails with AbortRequired: a record or offsets have failed, and
            nothing is committed; TransactionsEnded: the producer was fenced, and nothing is committed;
            ConnectionFailed: no coordinator has answered within ``max.block.ms``, so that the outcome is not
            known: call it again.
        """

        async def call() -> None:
            transactions = self._transactional()
            self._open_batches = {}
            await transactions.commit()

        return Deferred.fromCoroutine(call())

    def abort(self) -> Deferred[None]:
        """Abort the transaction; records that are not acknowledged fail.

        :return: fires when it is aborted. Fails with TransactionsEnded: the producer was fenced, and the
            transaction is aborted; ConnectionFailed: call it again.
        """

        async def call() -> None:
            transactions = self._transactional()
            self._open_batches = {}
            await transactions.abort()

        return Deferred.fromCoroutine(call())

    def transaction(self) -> TransactionBlock:
        """Return a block for ``async with``: it commits, or aborts if an exception leaves it."""
        return TransactionBlock(self.begin, self.commit, self.abort, self.in_transaction)

    def in_transaction(self) -> bool:
        """Return True if a transaction is open, even if it has failed."""
        return self._transactions is not None and self._transactions.machine.open

    async def _abort_open(self) -> None:
        """Abort the open transaction, because the producer is closed; else its time-out does."""
        if self._transactions is None or not self._transactions.machine.may_abort:
            return
        self._open_batches = {}
        try:
            await self._transactions.abort()
        except KafkaTXError as error:
            _log.warn("a producer was closed and its transaction not aborted: {error}", error=error)

    def _transactional(self) -> Transactions:
        if self._transactions is None:
            raise TransactionMisuse("the producer has no transactions: set transactional.id")
        return self._transactions
