"""Endless iterations over a consumer's records: in a coroutine, and in a thread.

Both get a hand of records at a time, and give one after the other without asking anybody. Seeks, pauses and
rebalances empty the hand; see :class:`~kafkatx.clientcore.consumer.partition_state.Delivery`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.threads import blockingCallFromThread

from kafkatx.client.consumer.poll import Poller
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed, NotAssigned
from kafkatx.types import TopicPartition


async def records(reading: Poller, limit: int) -> AsyncIterator[Record]:
    """Give records for ever; ends when the consumer is closed.

    A record is done when the next is asked for. While records are at hand nothing is awaited, but the
    reactor gets its turn between hands. If the application leaves the loop, what it was not given is the
    next for whoever asks.
    """
    while True:
        try:
            hand = await reading.next_delivery(limit)
        except ClientClosed:
            return
        for record in hand.remaining:
            hand.last = record
            yield record


class BlockingStream:
    """An iterator for a thread: it never ends, it waits, until the consumer is closed.

    Not for the reactor's own thread: it would wait for itself. One thread at a time.
    """

    def __init__(self, reactor: Any, reading: Poller, limit: int) -> None:
        self._reactor = reactor
        self._poller = reading
        self._limit = limit

    def __iter__(self) -> Iterator[Record]:
        """Give records; raises KafkaTXError where one cannot be had."""
        while True:
            try:
                hand: Delivery = blockingCallFromThread(self._reactor, self._next_delivery)  # type: ignore[arg-type]
            except ClientClosed:
                return
            for record in hand.remaining:
                hand.last = record
                yield record

    def _next_delivery(self) -> Deferred[Delivery]:
        return Deferred.fromCoroutine(self._poller.next_delivery(self._limit))


def rewind(seek: Callable[[TopicPartition, int], None], found: Mapping[TopicPartition, list[Record]]) -> None:
    """Take back records that were handed out, but reached nobody: they are the next again.

    :param seek: the consumer's.
    """
    for place, records in found.items():
        with suppress(NotAssigned):
            seek(place, records[0].offset)
