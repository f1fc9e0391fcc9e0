"""Waiting until everything that a producer was given is settled."""

from __future__ import annotations

from kafkatx.client.producer.buffer_pool import Room
from kafkatx.client.producer.receipts import FlushReceipt, Losses
from kafkatx.client.producer.sender import Sender
from kafkatx.client.producer.topic_queues import Gathering
from kafkatx.clientcore.producer.accumulator import Accumulator


class Drain:
    """Empties one producer: its waiters for room, those for topics, and its batches."""

    def __init__(
        self, room: Room, gathering: Gathering, accumulator: Accumulator, sender: Sender, losses: Losses
    ) -> None:
        self._room = room
        self._gathering = gathering
        self._accumulator = accumulator
        self._sender = sender
        self._losses = losses

    async def flush(self) -> None:
        """Drain, then tell of records that were given up and had no receipt.

        :raises RecordsLost: there are such records since the last time.
        """
        await self.run()
        self.check()

    def check(self) -> None:
        """Raise RecordsLost if records without a receipt were given up since the last time."""
        lost = self._losses.take()
        if lost is not None:
            raise lost

    async def run(self) -> None:
        """Send what was given before without lingering, and wait until it is in the log or given up.

        :raises ForkedClient: this is a fork of the producer's process.
        """
        if self._room.fork is not None:
            raise self._room.fork
        self._sender.hurry += 1
        try:
            await self._room.entered()
            await self._gathering.learned()
            await self._settled()
        finally:
            self._sender.hurry -= 1

    async def _settled(self) -> None:
        """Wait for all that is gathered now."""
        receipt = FlushReceipt()
        for batch in self._accumulator.unsettled():
            batch.entries += (receipt, 0, batch.count, 0)
            receipt.cut()
        receipt.delivered()
        self._sender.turn()
        await receipt.deferred
