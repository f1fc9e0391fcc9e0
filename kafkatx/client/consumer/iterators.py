"""Endless iterators over a consumer's records: for a coroutine, and for a thread.

Both take a :class:`~kafkatx.clientcore.consumer.partition_state.Delivery` at a time and give its records one
after another without further calls. Seeks, pauses and rebalances empty the delivery.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.threads import blockingCallFromThread

from kafkatx.client.consumer.poll import Poller
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed, NotAssigned
from kafkatx.types import TopicPartition


async def records(poller: Poller, limit: int) -> AsyncIterator[Record]:
    """Give records until the consumer is closed.

    A record counts as processed when the next one is asked for. Nothing is awaited between the records of one
    delivery, but the reactor gets its turn between deliveries. If the application leaves the loop, the
    records that it was not given are the next ones for another call.
    """
    while True:
        try:
            delivery = await poller.next_delivery(limit)
        except ClientClosed:
            return
        for record in delivery.remaining:
            delivery.last = record
            yield record


class BlockingStream:
    """An iterator for a thread; it waits for records and ends when the consumer is closed.

    Only for one thread at a time, and not for the reactor's own, which would wait for itself.
    """

    def __init__(self, reactor: IReactorTime, poller: Poller, limit: int) -> None:
        self._reactor = reactor
        self._poller = poller
        self._limit = limit

    def __iter__(self) -> Iterator[Record]:
        """Give records; raises the KafkaTXError in place of a record."""
        while True:
            try:
                delivery: Delivery = blockingCallFromThread(self._reactor, self._next_delivery)  # type: ignore[arg-type]
            except ClientClosed:
                return
            for record in delivery.remaining:
                delivery.last = record
                yield record

    def _next_delivery(self) -> Deferred[Delivery]:
        return Deferred.fromCoroutine(self._poller.next_delivery(self._limit))


def rewind(seek: Callable[[TopicPartition, int], None], found: Mapping[TopicPartition, list[Record]]) -> None:
    """Seek back to the first of records that were delivered but did not reach the application.

    :param seek: the consumer's method.
    """
    for topic_partition, records in found.items():
        with suppress(NotAssigned):
            seek(topic_partition, records[0].offset)
