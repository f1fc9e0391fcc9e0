"""Flush: sends everything that a producer holds without lingering, and waits until it is settled."""

from __future__ import annotations

from kafkatx.client.producer.buffer_pool import BufferPool
from kafkatx.client.producer.preparation import PreparationLine
from kafkatx.client.producer.receipts import FlushReceipt, LostRecords
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.topic_queues import TopicQueues
from kafkatx.clientcore.producer.accumulator import RecordAccumulator


class Flusher:
    """Empties one producer: records that wait for their encoder, for memory and for metadata, and batches."""

    def __init__(
        self,
        line: PreparationLine,
        pool: BufferPool,
        topic_queues: TopicQueues,
        accumulator: RecordAccumulator,
        sender: Sender,
        lost_records: LostRecords,
    ) -> None:
        self._line = line
        self._pool = pool
        self._topic_queues = topic_queues
        self._accumulator = accumulator
        self._sender = sender
        self._lost_records = lost_records

    async def flush(self) -> None:
        """Drain, then report records that failed without a receipt.

        :raises RecordsLost: there are such records since the last flush.
        """
        await self.drain()
        self.check()

    def check(self) -> None:
        """Raise RecordsLost if records without a receipt have failed since the last flush."""
        lost = self._lost_records.take()
        if lost is not None:
            raise lost

    async def drain(self) -> None:
        """Send the records of all earlier calls without lingering, and wait until they are settled.

        :raises ForkedClient: this is a fork of the producer's process.
        """
        if self._pool.fork is not None:
            raise self._pool.fork
        self._sender.hurry += 1
        try:
            await self._line.wait_until_empty()
            await self._pool.wait_until_admitted()
            await self._topic_queues.wait_for_topics()
            await self._settled()
        finally:
            self._sender.hurry -= 1

    async def _settled(self) -> None:
        """Wait until all batches of this moment are settled."""
        receipt = FlushReceipt()
        for batch in self._accumulator.unsettled():
            batch.entries += (receipt, 0, batch.count, 0)
            receipt.add_batch()
        receipt.delivered()
        self._sender.run_once()
        await receipt.deferred
