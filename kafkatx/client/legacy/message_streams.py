"""The streams of a ConsumerConnector: endless iterations that wait, and end with the connector."""

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

TELL_S = 0.5
"""How often it is told, at most, that the application gets on with a hand."""


@attrs.define(eq=False)
class StreamRecords:
    """Some records of one partition on their way through a stream.

    :ivar alive: to be called when the application has got on with them.
    :ivar done: fires when it is done with them.
    """

    hand: Delivery
    alive: Callable[[], None]
    done: Deferred[None] = attrs.Factory(Deferred)


class MessageStream:
    """An endless iteration over the records of some partitions, for one coroutine or one thread::

        async for record in stream:            for record in stream:  # in a thread
            print(record.value)                    print(record.value)

    Which partitions these are the group decides, and it may change; a partition is read by one stream at a
    time, in order. A record is done when the next one is asked for. The iteration ends when the connector is
    shut down, and raises what the connector fails with.

    Not for the reactor's own thread in the second way: it would wait for itself.
    """

    def __init__(self, reactor: Any, breathe: Callable[[], Deferred[None]]) -> None:
        """Made by :class:`~kafkatx.client.legacy.consumer_connector.ConsumerConnector`.

        :param breathe: fires at once, or when the reactor had its turn if it had none for long.
        """
        self._reactor = reactor
        self._breathe = breathe
        self._queue: deque[StreamRecords] = deque()
        self._current: StreamRecords | None = None
        self._waiting: Deferred[None] | None = None
        self._asking = False
        self._over: KafkaTXError | None = None

    # -- the application's side

    async def __aiter__(self) -> AsyncIterator[Record]:
        """Give records for ever. Who leaves the loop gets the rest when it iterates again.

        :raises KafkaTXError: the connector failed; or somebody else reads from this stream.
        """
        while True:
            try:
                taken = await self._next()
            except ClientClosed:
                return
            for record in self.records(taken, taken.alive):
                yield record

    def __iter__(self) -> Iterator[Record]:
        """Give records for ever, to a thread; raises as the other way."""
        reactor = self._reactor
        while True:
            try:
                taken: StreamRecords = blockingCallFromThread(reactor, self.ask)  # type: ignore[arg-type]
            except ClientClosed:
                return
            yield from self.records(taken, partial(reactor.callFromThread, taken.alive))

    def records(self, taken: StreamRecords, alive: Callable[[], None]) -> Iterator[Record]:
        """Give the records of a hand; for iterations of other kinds.

        :param alive: called now and then while the application gets on with them.
        """
        seconds = self._reactor.seconds
        hand = taken.hand
        told = seconds()
        for record in hand.remaining:
            hand.last = record
            yield record
            if seconds() - told >= TELL_S:
                told = seconds()
                alive()

    def ask(self) -> Deferred[StreamRecords]:
        """Fires with the next hand; for iterations of other kinds. Who asks is done with the one before.

        Fails with ClientClosed where the iteration ends, or with another KafkaTXError, as that does.
        """
        return Deferred.fromCoroutine(self._next())

    async def _next(self) -> StreamRecords:
        """The next hand; who asks is done with the one before.

        :raises KafkaTXError: there is none any more.
        """
        if self._asking:
            raise KafkaTXError("somebody reads from this stream already: one at a time")
        self._asking = True
        try:
            self._finish()
            await self._breathe()
            while not self._queue:
                if self._over is not None:
                    raise self._over
                self._waiting = Deferred()
                await self._waiting
        finally:
            self._asking = False
            self._waiting = None
        self._current = self._queue.popleft()
        self._current.alive()
        return self._current

    def _finish(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            current.done.callback(None)

    # -- the connector's side

    async def take(self, hand: Delivery, alive: Callable[[], None]) -> None:
        """Give the application a hand; ends when it is done with it, or others have taken it back unread."""
        taken = StreamRecords(hand, alive)
        hand.on_interrupted = lambda: self._cut(taken)
        self._queue.append(taken)
        self._wake()
        await taken.done

    def _cut(self, taken: StreamRecords) -> None:
        """Records were taken out of a hand: one that nobody has begun with is empty now."""
        if taken in self._queue:
            self._queue.remove(taken)
            taken.done.callback(None)

    def end(self, error: KafkaTXError) -> None:
        """Give nothing more: who asks gets *error*, and ClientClosed ends the iteration.

        The record that the application has counts as done.
        """
        self._over = self._over or error
        for taken in list(self._queue):
            self._cut(taken)
        if isinstance(error, ClientClosed):
            self._finish()
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)
