"""Polling: the application's calls for records, one at a time. Touches timers only.

:class:`~kafkatx.client.consumer.fetcher.Fetcher` fills the buffer that records come from;
:mod:`~kafkatx.client.consumer.processor` polls by itself and calls a function for each record.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater

from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.errors import ClientClosed, NotStarted
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import TopicPartition

MAX_BUSY_S = 0.02
"""The longest that an application is given buffered records without a turn of the reactor, which has to send
heartbeats."""


class Poller:
    """The application's side of a consumer.

    A call for more records marks those delivered before as processed. Waiting for records does not count
    towards ``max.poll.interval.ms``.

    :ivar processed: fires when the application asks for more, or has processed a delivery.
    :ivar closed: nothing more is delivered.
    """

    def __init__(
        self, reactor: IReactorTime, subscriptions: SubscriptionState, on_poll: Callable[[bool], None]
    ) -> None:
        """Create it.

        :param on_poll: called when the application asks: with True if it has to wait, else with False.
        """
        self.processed: Waiters[None] = Waiters()
        self.closed = False
        self._started = False
        self._reactor = reactor
        self._subscriptions = subscriptions
        self._on_poll = on_poll
        self._failure: BaseException | None = None
        self._passing_failure: BaseException | None = None
        self._busy = False
        self._waiter: Deferred[None] | None = None
        self._yielded_at = reactor.seconds()

    def start(self) -> None:
        """Accept calls for records."""
        self._started = True

    def check_started(self) -> None:
        """Raise NotStarted before :meth:`start`, unless the consumer is closed already."""
        if not self._started and not self.closed:
            raise NotStarted("consumer")

    @property
    def busy(self) -> bool:
        """True if a call for records is in progress."""
        return self._busy

    def notify(self) -> None:
        """Wake the waiting caller if there may be something for it."""
        if self._subscriptions.buffer or self.closed or self._failure or self._passing_failure:
            self.wake()

    def wake(self) -> None:
        """Wake the waiting caller."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.callback(None)

    def fail(self, error: BaseException, permanent: bool) -> None:
        """Raise an error to the next caller, or to all from now on."""
        if permanent:
            self._failure = error
        else:
            self._passing_failure = error
        self.notify()

    def close(self) -> None:
        """Deliver nothing more: callers get ClientClosed."""
        self.closed = True
        self.notify()

    def acquire(self) -> None:
        """Start a call for records.

        :raises NotStarted: the consumer is not started, so there would never be a record.
        :raises KafkaTXError: another one is in progress.
        """
        self.check_started()
        if self._busy:
            raise KafkaTXError("another call for records of this consumer is in progress: only one at a time")
        self._busy = True

    def release(self) -> None:
        """End a call for records."""
        self._busy = False

    async def poll(self, limit: int, timeout_s: float | None) -> dict[TopicPartition, list[Record]]:
        """Return the next records by partition; none after the timeout (None: without limit).

        :raises KafkaTXError: the error in place of the next record; ClientClosed.
        """
        self.acquire()
        try:
            await self.yield_to_reactor()
            end = None if timeout_s is None else self._reactor.seconds() + timeout_s
            while True:
                self.request_more()
                found = self._subscriptions.take(limit)
                left = None if end is None else end - self._reactor.seconds()
                if found or (left is not None and left <= 0):
                    self._on_poll(False)
                    return found
                self._on_poll(True)
                await self.wait(left)
        finally:
            self.release()

    async def next_delivery(self, limit: int) -> Delivery:
        """Return the next records of one partition, to be given out one by one; waits without limit.

        :raises KafkaTXError: the error in place of the next record; ClientClosed.
        """
        self.acquire()
        try:
            await self.yield_to_reactor()
            while True:
                self.request_more()
                delivery = self._subscriptions.next_delivery(limit)
                if delivery is not None:
                    self._on_poll(False)
                    return delivery
                self._on_poll(True)
                await self.wait(None)
        finally:
            self.release()

    def request_more(self) -> None:
        """Mark delivered records as processed, because the application asks for more.

        :raises KafkaTXError: as :meth:`check`.
        """
        self.check()
        self._subscriptions.mark_processed()
        self.processed.fire(None)

    def check(self) -> None:
        """Raise the error that the application gets in place of records, if there is one.

        :raises KafkaTXError: the consumer failed or is closed, or a listener failed.
        """
        if self._failure is not None:
            raise self._failure
        if self.closed:
            raise ClientClosed("the consumer is closed")
        passing, self._passing_failure = self._passing_failure, None
        if passing is not None:
            raise passing

    def yield_to_reactor(self) -> Deferred[None]:
        """Fire at once, or in the reactor's next turn if it had none for :data:`MAX_BUSY_S`."""
        if self._reactor.seconds() - self._yielded_at < MAX_BUSY_S:
            return succeed(None)
        return deferLater(self._reactor, 0, self._yielded)

    def _yielded(self) -> None:
        self._yielded_at = self._reactor.seconds()

    async def wait(self, seconds: float | None) -> None:
        """Wait for :meth:`wake`, at most *seconds*."""
        waiter = self._waiter = Deferred()
        timer: IDelayedCall | None = None
        if seconds is not None:
            timer = self._reactor.callLater(seconds, self._time_out, waiter)
        try:
            self.notify()
            await waiter
        finally:
            if self._waiter is waiter:
                self._waiter = None
            if timer is not None and timer.active():
                timer.cancel()
            self._yielded()

    def _time_out(self, waiter: Deferred[None]) -> None:
        if self._waiter is waiter:
            self._waiter = None
            waiter.callback(None)
