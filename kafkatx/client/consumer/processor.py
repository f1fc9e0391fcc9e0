"""The processor: calls a function with each record, and takes more only as fast as it processes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import CancelledError, Deferred, DeferredList, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from kafkatx.client.consumer.poll import MAX_BUSY_S, Poller
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.networkclient.waiters import Waiters


@attrs.define(eq=False)
class _Work:
    """Records of one partition that are being passed to the function.

    :ivar since: when the function was last called.
    """

    delivery: Delivery
    since: float
    done: Deferred[None] | None = None


class Processor:
    """Calls a function with the records of all partitions.

    Records of one partition are processed one after another; partitions do not wait for each other. If the
    function returns a Deferred or a coroutine, the record is processed when that is done. This limits memory:
    the records buffered per partition are bounded, and no more is fetched until there is space.

    An error of the function ends the processing: the record is not processed, and is the next one of its
    partition.

    :param batches: call the function with lists of records.
    :param report_activity: called with the time since when the application has been processing; None: it is
        idle.

    :ivar running: true from the start until the end.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        subscriptions: SubscriptionState,
        poller: Poller,
        function: Callable[[Any], Any],
        batches: bool,
        limit: int,
        report_activity: Callable[[float | None], None],
    ) -> None:
        self._reactor = reactor
        self._subscriptions = subscriptions
        self._poller = poller
        self._function = function
        self._batches = batches
        self._limit = limit
        self._report_activity = report_activity
        self._running_work: set[_Work] = set()
        self._failure: Failure | None = None
        self.running = False
        self._cancelled = self._stopping = False
        self._ended: Waiters[None] = Waiters()

    def start(self) -> Deferred[None]:
        """Process until the consumer is closed, or the function fails.

        :return: fires when no call of the function is in progress any more. Fails with the function's error,
            or with an error of the consumer. Cancelling it calls :meth:`cancel`: it fails with
            CancelledError.
        """
        # Not the coroutine's own Deferred: that one cannot be cancelled from inside the coroutine, where the
        # function is called.
        outcome: Deferred[None] = Deferred(lambda _: self.cancel())
        waiting: Deferred[None] = Deferred(lambda _: self.cancel())

        def over(result: Failure | None) -> None:
            self.running = False
            for one in (outcome, waiting):
                if not one.called:
                    one.callback(result)
            self._ended.fire(None)

        outcome.addBoth(lambda _: waiting)  # a cancelled outcome fires when the function is done
        self.running = True
        Deferred.fromCoroutine(self._run()).addBoth(over)
        return outcome

    def wait_ended(self) -> Deferred[None]:
        """Fire when the processing has ended; cancelling the Deferred has no effect on it."""
        return self._ended.wait() if self.running else succeed(None)

    def cancel(self) -> None:
        """End, delivering nothing more; when called again, cancel the Deferreds of the function."""
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
            work.delivery.state.interrupt_delivery()

    async def _run(self) -> None:
        self._poller.check()
        self._poller.acquire()
        try:
            while not (self._poller.closed or self._failure or self._cancelled):
                self._poller.check()
                delivery = self._subscriptions.next_delivery(self._limit)
                if delivery is None:
                    await self._poller.wait(None)
                    continue
                self._start(delivery)
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
        """Deliver nothing more, and wait for the calls of the function in progress."""
        self._stopping = True
        self._interrupt()
        await DeferredList([work.done for work in self._running_work if work.done is not None])
        self._report_activity(None)

    def _start(self, delivery: Delivery) -> None:
        work = _Work(delivery, self._reactor.seconds())
        self._running_work.add(work)
        self._report()
        done = Deferred.fromCoroutine(self._work(work))
        if work in self._running_work:
            work.done = done

    async def _work(self, work: _Work) -> None:
        delivery = work.delivery
        try:
            if self._batches:
                records = delivery.take_all()
                if records:
                    await self._call(records)
            else:
                await self._each(work, delivery)
        except Exception:
            self._failure = self._failure or Failure()
            self._subscriptions.fail_delivery(delivery)
        else:
            self._subscriptions.finish_delivery(delivery)
        self._running_work.discard(work)
        self._report()
        self._poller.processed.fire(None)
        self._poller.wake()

    async def _each(self, work: _Work, delivery: Delivery) -> None:
        function, seconds = self._function, self._reactor.seconds
        reported = work.since
        for record in delivery.remaining:
            delivery.last = record
            result = function(record)
            if result is not None and hasattr(result, "__await__"):
                await result
            work.since = seconds()
            if work.since - reported >= MAX_BUSY_S:
                reported = work.since
                self._report()
                await self._poller.yield_to_reactor()

    async def _call(self, records: list[Record]) -> None:
        result = self._function(records)
        if hasattr(result, "__await__"):
            await result

    def _report(self) -> None:
        """Report since when the longest call of the function has been in progress."""
        self._report_activity(min((work.since for work in self._running_work), default=None))
