"""Carries out a producer's transactions: adds partitions before batches are sent, flushes, ends."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping

from twisted.internet.defer import Deferred, DeferredLock

from kafkatx.client.producer.receipts import LostRecords, fail_batch
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.transactions.coordinator import TransactionCoordinator
from kafkatx.clientcore.errors import ClientClosed, retriable
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.clientcore.producer.transactions.errors import TransactionMisuse
from kafkatx.clientcore.producer.transactions.machine import TransactionMachine
from kafkatx.clientcore.producer.transactions.requests import PRODUCE_AT_MOST
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import TopicPartition


class Transactions:
    """The transactions of one producer. Its calls are carried out one after the other.

    :param drain: sends everything that the producer holds, and waits until it is settled.
    :param reject_waiting: fails the callers whose records are in no batch yet.
    :ivar machine: the state.
    """

    def __init__(
        self,
        coordinator: TransactionCoordinator,
        machine: TransactionMachine,
        accumulator: RecordAccumulator,
        sender: Sender,
        lost_records: LostRecords,
        drain: Callable[[], Awaitable[None]],
        reject_waiting: Callable[[KafkaTXError], None],
    ) -> None:
        self.machine = machine
        self._coordinator = coordinator
        self._accumulator = accumulator
        self._sender = sender
        self._lost_records = lost_records
        self._drain = drain
        self._reject_waiting = reject_waiting
        self._lock = DeferredLock()
        self._emptied: Waiters[None] = Waiters()
        self._adding: Deferred[None] | None = None
        self._dropped = False

    # -- the sender's questions

    @property
    def transactional_id(self) -> str:
        """The id that produce requests carry."""
        return self.machine.transactional_id

    @property
    def produce_at_most(self) -> int | None:
        """The last version of Produce that does not add partitions by itself, in protocol 1."""
        return None if self.machine.implicit else PRODUCE_AT_MOST

    def admit(self, queues: list[PartitionQueue]) -> list[PartitionQueue]:
        """Return the queues whose partitions are in the transaction; begin to add the others'."""
        admitted = self.machine.admit(TopicPartition(queue.topic, queue.partition) for queue in queues)
        if self.machine.wanted and self._adding is None and self.machine.sends:
            self._adding = Deferred.fromCoroutine(self._add())
            self._adding.addBoth(self._added)
        return [queue for queue in queues if (queue.topic, queue.partition) in admitted]

    async def _add(self) -> None:
        while self.machine.wanted:
            places = list(self.machine.wanted)
            self.machine.begun = True
            try:
                await self._coordinator.add_partitions(places)
            except KafkaTXError as error:
                self.failed(error)
                return
            self.machine.added(places)
            self._sender.wake()

    def _added(self, _: object) -> None:
        self._adding = None
        self.settled()
        self._sender.wake()

    def failed(self, error: BaseException) -> None:
        """Take the failure of a record: the transaction cannot be committed any more."""
        self.machine.fail(error)
        if self.machine.error is not None:
            self._sender.wake()

    def check(self) -> None:
        """Drop all records of a transaction that has failed; called before each run of the sender."""
        if self.machine.error is not None and not self._dropped:
            self._drop()

    def settled(self) -> None:
        """Continue an abort that waits for replies; called after batches were settled."""
        if not self._accumulator.busy and self._adding is None:
            self._emptied.fire(None)

    # -- the program's calls

    async def start(self) -> None:
        """Request the first identity, which fences other producers with this transactional id.

        :raises KafkaTXError: no coordinator has given one within ``max.block.ms``.
        """
        identity, implicit = await self._coordinator.identity()
        self.machine.initialized(identity, implicit)
        self._accumulator.restart(identity)

    def begin(self) -> None:
        """Open a transaction; see :meth:`TransactionMachine.begin`."""
        self.machine.begin()
        self._dropped = False

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        """Commit offsets with the transaction.

        :raises AbortRequired: the coordinator or the group has refused them.
        :raises TransactionMisuse: no transaction is open.
        """
        self.machine.check_open()
        if not offsets:
            return
        await self._lock.acquire()
        try:
            self.machine.check()
            await self._send_offsets(offsets, group)
        finally:
            self._lock.release()

    async def _send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        machine = self.machine
        machine.begun = True
        try:
            if not machine.implicit and group.group_id not in machine.groups:
                await self._coordinator.add_offsets(group.group_id)
                machine.groups.add(group.group_id)
            await self._coordinator.commit_offsets(group, offsets)
        except KafkaTXError as error:
            self.failed(error)
            machine.check()
            raise

    async def commit(self) -> None:
        """Send all records of the transaction, and commit it.

        :raises AbortRequired: a record or offsets have failed; nothing is committed.
        :raises TransactionsEnded: the producer was fenced.
        :raises ConnectionFailed: no coordinator has answered: the outcome is not known. Call it again.
        """
        await self._lock.acquire()
        try:
            machine = self.machine
            if machine.sends:
                await self._flush()
            machine.commit()
            await self._end(True)
        finally:
            self._lock.release()

    async def _flush(self) -> None:
        """Send all records; accept no more meanwhile."""
        self.machine.accepts = False
        try:
            await self._drain()
        except BaseException:  # cancelled: the transaction is still open
            self.machine.accepts = self.machine.sends
            raise
        if self._adding is not None:
            await self._wait_until_empty()

    async def abort(self) -> None:
        """Drop all records that are not sent, wait for the replies to the others, and abort.

        :raises TransactionsEnded: the producer was fenced.
        :raises ConnectionFailed: no coordinator has answered: call it again.
        """
        await self._lock.acquire()
        try:
            self.machine.abort()
            self._drop()
            await self._wait_until_empty()
            await self._end(False)
        finally:
            self._lock.release()

    async def _end(self, committed: bool) -> None:
        machine = self.machine
        identity = None
        try:
            if machine.begun:
                identity = await self._coordinator.end(committed)
                if machine.needs_epoch and not machine.implicit:
                    identity, _ = await self._coordinator.identity()
        except KafkaTXError as error:
            if not retriable(error):
                self.failed(error)
                machine.check()
            raise
        machine.ended(identity)
        if identity is not None:
            self._accumulator.restart(identity)

    def _drop(self) -> None:
        """Fail all records that are not acknowledged; those in flight stay until they are answered."""
        self._dropped = True
        error = self.machine.error
        reason = error if isinstance(error, KafkaTXError) else _aborted(self.transactional_id)
        for batch in self._accumulator.expire(math.inf):
            fail_batch(batch, reason, self._lost_records)
        self._reject_waiting(reason)
        self._lost_records.take()  # the transaction tells of them
        self._sender.settled()

    async def _wait_until_empty(self) -> None:
        if self._accumulator.busy or self._adding is not None:
            await self._emptied.wait()

    def close(self) -> None:
        """Fail the calls that wait, and stop adding partitions."""
        if self._adding is not None:
            self._adding.cancel()
        self._emptied.fail(ClientClosed("the producer was closed before its transaction ended"))


def _aborted(transactional_id: str) -> TransactionMisuse:
    return TransactionMisuse(f"the transaction of {transactional_id!r} was aborted before this was delivered")
