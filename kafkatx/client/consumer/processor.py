"""The processor: a function is called with each record, and more is read only as it gets on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred, DeferredList, succeed
from twisted.python.failure import Failure

from kafkatx.client.consumer.poll import BREATH_S, Reading
from kafkatx.clientcore.consumer.partition_state import Hand
from kafkatx.clientcore.consumer.subscription_state import Positions
from kafkatx.networkclient.waiters import Waiters


@attrs.define(eq=False)
class _Work:
    """One partition's records on their way through the function.

    :ivar since: when the function was last called.
    """

    hand: Hand
    since: float
    done: Deferred[None] | None = None


class Processor:
    """Calls a function with the records of all partitions.

    Of one partition a record comes after the one before it is done; partitions do not wait for each other. A
    function that returns a Deferred or is a coroutine is done when that is. Back-pressure comes by itself:
    what a partition has at hand is bounded, and no more is fetched before there is room.

    An error of the function ends the processing: the record is not done, and the next that would be given.

    :param batches: call it with lists of records instead.
    :param alive: called with the time since when the application has been at work; None: it is idle.

    :ivar running: whether it has begun and is not over.
    """

    def __init__(
        self,
        reactor: Any,
        positions: Positions,
        reading: Reading,
        function: Callable[[Any], Any],
        batches: bool,
        limit: int,
        alive: Callable[[float | None], None],
    ) -> None:
        self._reactor = reactor
        self._positions = positions
        self._reading = reading
        self._function = function
        self._batches = batches
        self._limit = limit
        self._alive = alive
        self._works: set[_Work] = set()
        self._failure: Failure | None = None
        self.running = False
        self._cancelled = self._stopping = False
        self._over: Waiters[None] = Waiters()

    def start(self) -> Deferred[None]:
        """Process until the consumer is closed, or the function fails.

        :return: fires when no function is at work any more. Fails with what the function raised, or with an
            error of the consumer. Cancelling it is :meth:`cancel`: it fails with CancelledError.
        """
        # Not the coroutine's own Deferred: that one cannot be cancelled from inside of the coroutine, where
        # the function is called.
        outcome: Deferred[None] = Deferred(lambda _: self.cancel())
        waiting: Deferred[None] = Deferred(lambda _: self.cancel())

        def over(result: Any) -> None:
            self.running = False
            for one in (outcome, waiting):
                if not one.called:
                    one.callback(result)
            self._over.fire(None)

        outcome.addBoth(lambda _: waiting)  # who cancels it hears when the functions are done
        self.running = True
        Deferred.fromCoroutine(self._run()).addBoth(over)
        return outcome

    def ended(self) -> Deferred[None]:
        """Fires when it is over, at once if it is; cancelling it changes nothing."""
        return self._over.wait() if self.running else succeed(None)

    def cancel(self) -> None:
        """Give out nothing more and end; where that is so already, cancel what the function works on."""
        if not self._stopping:
            self._cancelled = True
            self._interrupt()
            self._reading.wake()
            return
        for work in list(self._works):
            if work.done is not None:
                work.done.cancel()

    def _interrupt(self) -> None:
        for work in list(self._works):
            work.hand.position.interrupt()

    async def _run(self) -> None:
        self._reading.check()
        self._reading.begin()
        try:
            while not (self._reading.closed or self._failure or self._cancelled):
                self._reading.check()
                hand = self._positions.give(self._limit)
                if hand is None:
                    await self._reading.wait(None)
                    continue
                self._start(hand)
                await self._reading.breathe()
        finally:
            try:
                await self._stop()
            finally:
                self._reading.end()
        if self._failure is not None:
            self._failure.raiseException()
        if self._cancelled:
            raise CancelledError()

    async def _stop(self) -> None:
        """Give out nothing more, and wait for what the function works on."""
        self._stopping = True
        self._interrupt()
        await DeferredList([work.done for work in self._works if work.done is not None])
        self._alive(None)

    def _start(self, hand: Hand) -> None:
        work = _Work(hand, self._reactor.seconds())
        self._works.add(work)
        self._work_on()
        done = Deferred.fromCoroutine(self._work(work))
        if work in self._works:
            work.done = done

    async def _work(self, work: _Work) -> None:
        hand = work.hand
        try:
            if self._batches:
                records = hand.all()
                if records:
                    await self._call(records)
            else:
                await self._each(work, hand)
        except Exception:
            self._failure = self._failure or Failure()
            self._positions.fail(hand)
        else:
            self._positions.finish(hand)
        self._works.discard(work)
        self._work_on()
        self._reading.settled.fire(None)
        self._reading.wake()

    async def _each(self, work: _Work, hand: Hand) -> None:
        function, seconds = self._function, self._reactor.seconds
        told = work.since
        for record in hand.rest:
            hand.last = record
            result = function(record)
            if result is not None and hasattr(result, "__await__"):
                await result
            work.since = seconds()
            if work.since - told >= BREATH_S:
                told = work.since
                self._work_on()
                await self._reading.breathe()

    async def _call(self, records: Any) -> None:
        result = self._function(records)
        if hasattr(result, "__await__"):
            await result

    def _work_on(self) -> None:
        """Tell how long the function has been at what it has been at longest."""
        self._alive(min((work.since for work in self._works), default=None))
