"""The processor: a function is called with each record, and more is read only as it gets on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred, DeferredList, succeed
from twisted.python.failure import Failure

from kafkatx.client.consumer.poll import MAX_BUSY_S, Poller
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.networkclient.waiters import Waiters


@attrs.define(eq=False)
class _Work:
    """One partition's records on their way through the function.

    :ivar since: when the function was last called.
    """

    hand: Delivery
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
        positions: SubscriptionState,
        reading: Poller,
        function: Callable[[Any], Any],
        batches: bool,
        limit: int,
        alive: Callable[[float | None], None],
    ) -> None:
        self._reactor = reactor
        self._subscriptions = positions
        self._poller = reading
        self._function = function
        self._batches = batches
        self._limit = limit
        self._report_activity = alive
        self._running_work: set[_Work] = set()
        self._failure: Failure | None = None
        self.running = False
        self._cancelled = self._stopping = False
        self._ended: Waiters[None] = Waiters()

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
            self._ended.fire(None)

        outcome.addBoth(lambda _: waiting)  # who cancels it hears when the functions are done
        self.running = True
        Deferred.fromCoroutine(self._run()).addBoth(over)
        return outcome

    def wait_ended(self) -> Deferred[None]:
        """Fires when it is over, at once if it is; cancelling it changes nothing."""
        return self._ended.wait() if self.running else succeed(None)

    def cancel(self) -> None:
        """Give out nothing more and end; where that is so already, cancel what the function works on."""
        if not self._stopping:
            self._cancelled = True
            self._interrupt()
            self._poller.wake()
            return
        for work in list(self._running_work):
            if work.done is not None:
                work.done.cancel()

    def _interrupt(self) -> None:
        for work in list(self._running_work):
            work.hand.state.interrupt_delivery()

    async def _run(self) -> None:
        self._poller.check()
        self._poller.acquire()
        try:
            while not (self._poller.closed or self._failure or self._cancelled):
                self._poller.check()
                hand = self._subscriptions.next_delivery(self._limit)
                if hand is None:
                    await self._poller.wait(None)
                    continue
                self._start(hand)
                await self._poller.yield_to_reactor()
        finally:
            try:
                await self._stop()
            finally:
                self._poller.release()
        if self._failure is not None:
            self._failure.raiseException()
        if self._cancelled:
            raise CancelledError()

    async def _stop(self) -> None:
        """Give out nothing more, and wait for what the function works on."""
        self._stopping = True
        self._interrupt()
        await DeferredList([work.done for work in self._running_work if work.done is not None])
        self._report_activity(None)

    def _start(self, hand: Delivery) -> None:
        work = _Work(hand, self._reactor.seconds())
        self._running_work.add(work)
        self._report()
        done = Deferred.fromCoroutine(self._work(work))
        if work in self._running_work:
            work.done = done

    async def _work(self, work: _Work) -> None:
        hand = work.hand
        try:
            if self._batches:
                records = hand.take_all()
                if records:
                    await self._call(records)
            else:
                await self._each(work, hand)
        except Exception:
            self._failure = self._failure or Failure()
            self._subscriptions.fail_delivery(hand)
        else:
            self._subscriptions.finish_delivery(hand)
        self._running_work.discard(work)
        self._report()
        self._poller.processed.fire(None)
        self._poller.wake()

    async def _each(self, work: _Work, hand: Delivery) -> None:
        function, seconds = self._function, self._reactor.seconds
        told = work.since
        for record in hand.remaining:
            hand.last = record
            result = function(record)
            if result is not None and hasattr(result, "__await__"):
                await result
            work.since = seconds()
            if work.since - told >= MAX_BUSY_S:
                told = work.since
                self._report()
                await self._poller.yield_to_reactor()

    async def _call(self, records: Any) -> None:
        result = self._function(records)
        if hasattr(result, "__await__"):
            await result

    def _report(self) -> None:
        """Tell how long the function has been at what it has been at longest."""
        self._report_activity(min((work.since for work in self._running_work), default=None))
