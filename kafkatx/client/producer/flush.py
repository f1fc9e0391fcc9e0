"""Waiting until everything that a producer was given is settled."""

from __future__ import annotations

from kafkatx.client.producer.buffer_pool import BufferPool
from kafkatx.client.producer.receipts import FlushReceipt, LostRecords
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.topic_queues import TopicQueues
from kafkatx.clientcore.producer.accumulator import RecordAccumulator


class Flusher:
    """Empties one producer: its waiters for room, those for topics, and its batches."""

    def __init__(
        self,
        pool: BufferPool,
        topic_queues: TopicQueues,
        accumulator: RecordAccumulator,
        sender: Sender,
        lost_records: LostRecords,
    ) -> None:
        self._pool = pool
        self._topic_queues = topic_queues
        self._accumulator = accumulator
        self._sender = sender
        self._lost_records = lost_records

    async def flush(self) -> None:
        """Drain, then tell of records that were given up and had no receipt.

        :raises RecordsLost: there are such records since the last time.
        """
        await self.run()
        self.check()

    def check(self) -> None:
        """Raise RecordsLost if records without a receipt were given up since the last time."""
        lost = self._lost_records.take()
        if lost is not None:
            raise lost

    async def run(self) -> None:
        """Send what was given before without lingering, and wait until it is in the log or given up.

        :raises ForkedClient: this is a fork of the producer's process.
        """
        if self._pool.fork is not None:
            raise self._pool.fork
        self._sender.hurry += 1
        try:
            await self._pool.wait_until_admitted()
            await self._topic_queues.wait_for_topics()
            await self._settled()
        finally:
            self._sender.hurry -= 1

    async def _settled(self) -> None:
        """Wait for all that is gathered now."""
        receipt = FlushReceipt()
        for batch in self._accumulator.unsettled():
            batch.entries += (receipt, 0, batch.count, 0)
            receipt.add_batch()
        receipt.delivered()
        self._sender.run_once()
        await receipt.deferred
