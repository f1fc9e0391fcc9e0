"""The streams of a ConsumerConnector: endless iterations over records, until the connector is shut down."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.threads import blockingCallFromThread

from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError

REPORT_S = 0.5
"""The shortest interval between two reports that the application is processing records."""


@attrs.define(eq=False)
class StreamRecords:
    """Records of one partition in a stream.

    :ivar report_activity: to be called while the application processes them.
    :ivar done: fires when the application has finished them.
    """

    delivery: Delivery
    report_activity: Callable[[], None]
    done: Deferred[None] = attrs.Factory(Deferred)


class MessageStream:
    """An endless iteration over the records of some partitions, for one coroutine or one thread::

        async for record in stream:            for record in stream:  # in a thread
            print(record.value)                    print(record.value)

    The group assigns the partitions, and may reassign them; a partition is read by one stream at a time, in
    order. A record is finished when the next one is requested. The iteration ends when the connector is shut
    down, and raises the connector's error if that fails.

    The second form must not be used in the reactor's own thread, which would wait for itself.
    """

    def __init__(self, reactor: Any, yield_to_reactor: Callable[[], Deferred[None]]) -> None:
        """Make an empty stream; :class:`~kafkatx.client.legacy.consumer_connector.ConsumerConnector` does.

        :param yield_to_reactor: returns a Deferred that fires when the reactor has run, or at once.
        """
        self._reactor = reactor
        self._yield_to_reactor = yield_to_reactor
        self._queue: deque[StreamRecords] = deque()
        self._current: StreamRecords | None = None
        self._waiting: Deferred[None] | None = None
        self._reading = False
        self._ended_with: KafkaTXError | None = None

    # -- called by the application

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Yield records until the connector is shut down; the next iteration continues where this one ends.

        :raises KafkaTXError: the connector has failed, or the stream is being read already.
        """
        while True:
            try:
                records = await self._next()
            except ClientClosed:
                return
            for record in self.records(records, records.report_activity):
                yield record

    def __iter__(self) -> Iterator[Record]:
        """Yield records to another thread than the reactor's; otherwise as :meth:`__aiter__`."""
        reactor = self._reactor
        while True:
            try:
                taken: StreamRecords = blockingCallFromThread(reactor, self.next_records)  # type: ignore[arg-type]
            except ClientClosed:
                return
            yield from self.records(taken, partial(reactor.callFromThread, taken.report_activity))

    def records(self, taken: StreamRecords, report_activity: Callable[[], None]) -> Iterator[Record]:
        """Yield the records of :meth:`next_records`, for the facades' iterations.

        :param report_activity: called now and then while the application processes them.
        """
        seconds = self._reactor.seconds
        delivery = taken.delivery
        reported = seconds()
        for record in delivery.remaining:
            delivery.last = record
            yield record
            if seconds() - reported >= REPORT_S:
                reported = seconds()
                report_activity()

    def next_records(self) -> Deferred[StreamRecords]:
        """Finish the records before, and wait for the next ones; for the facades' iterations.

        Fires with them. Fails with ClientClosed when the iteration ends, or with another KafkaTXError.
        """
        return Deferred.fromCoroutine(self._next())

    async def _next(self) -> StreamRecords:
        if self._reading:
            raise KafkaTXError("this stream is being read already: one reader at a time")
        self._reading = True
        try:
            self._finish()
            await self._yield_to_reactor()
            while not self._queue:
                if self._ended_with is not None:
                    raise self._ended_with
                self._waiting = Deferred()
                await self._waiting
        finally:
            self._reading = False
            self._waiting = None
        self._current = self._queue.popleft()
        self._current.report_activity()
        return self._current

    def _finish(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            current.done.callback(None)

    # -- called by the connector

    async def deliver(self, delivery: Delivery, report_activity: Callable[[], None]) -> None:
        """Queue records for the application; return when it has finished them, or they were taken back."""
        queued = StreamRecords(delivery, report_activity)
        delivery.on_interrupted = lambda: self._discard(queued)
        self._queue.append(queued)
        self._wake()
        await queued.done

    def _discard(self, queued: StreamRecords) -> None:
        """Remove records that were taken back before the application has begun with them."""
        if queued in self._queue:
            self._queue.remove(queued)
            queued.done.callback(None)

    def end(self, error: KafkaTXError) -> None:
        """End the stream: the application gets *error*, or the end of the iteration after ClientClosed.

        The record that the application has counts as finished after ClientClosed.
        """
        self._ended_with = self._ended_with or error
        for queued in list(self._queue):
            self._discard(queued)
        if isinstance(error, ClientClosed):
            self._finish()
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)
