"""How an application gets records: one that asks at a time, and what happens when it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater

from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import TopicPartition

MAX_BUSY_S = 0.02
"""So long an application may be given records that are at hand, before the reactor gets a turn: else a loop
over them would let no heartbeat out."""


class Poller:
    """The application's side of a consumer.

    Who asks for more is done with what was had before. Waiting for more does not count as work.

    :ivar processed: fires when the application has asked for more.
    :ivar closed: nothing more is given.
    """

    def __init__(self, reactor: Any, positions: SubscriptionState, alive: Callable[[bool], None]) -> None:
        """Make it.

        :param alive: called when the application asks: with True when it waits, else when it gets something.
        """
        self.processed: Waiters[None] = Waiters()
        self.closed = False
        self._reactor = reactor
        self._subscriptions = positions
        self._on_poll = alive
        self._failure: BaseException | None = None
        self._passing_failure: BaseException | None = None
        self._busy = False
        self._waiter: Deferred[None] | None = None
        self._yielded_at = reactor.seconds()

    @property
    def busy(self) -> bool:
        """Whether somebody asks."""
        return self._busy

    def notify(self) -> None:
        """Something may be at hand: whoever waits looks."""
        if self._subscriptions.buffer or self.closed or self._failure or self._passing_failure:
            self.wake()

    def wake(self) -> None:
        """Let whoever waits look."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.callback(None)

    def fail(self, error: BaseException, for_good: bool) -> None:
        """Let the next who asks have an error, or everybody from now on."""
        if for_good:
            self._failure = error
        else:
            self._passing_failure = error
        self.notify()

    def close(self) -> None:
        """Give nothing more: who waits gets ClientClosed."""
        self.closed = True
        self.notify()

    def acquire(self) -> None:
        """Somebody begins to ask.

        :raises KafkaTXError: somebody else does.
        """
        if self._busy:
            raise KafkaTXError("somebody reads from this consumer already: one at a time")
        self._busy = True

    def release(self) -> None:
        """Whoever asked is done."""
        self._busy = False

    async def poll(self, limit: int, timeout_s: float | None) -> dict[TopicPartition, list[Record]]:
        """The next records by partition; empty after the time-out (None: never).

        :raises KafkaTXError: what stands in their place; ClientClosed.
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
        """The next records of one partition, one by one; waits for ever.

        :raises KafkaTXError: what stands in their place; ClientClosed.
        """
        self.acquire()
        try:
            await self.yield_to_reactor()
            while True:
                self.request_more()
                hand = self._subscriptions.next_delivery(limit)
                if hand is not None:
                    self._on_poll(False)
                    return hand
                self._on_poll(True)
                await self.wait(None)
        finally:
            self.release()

    def request_more(self) -> None:
        """The application asks for more: what it had is done.

        :raises KafkaTXError: it gets an error instead.
        """
        self.check()
        self._subscriptions.mark_processed()
        self.processed.fire(None)

    def check(self) -> None:
        """See whether the application may have records.

        :raises KafkaTXError: it gets an error instead.
        """
        if self._failure is not None:
            raise self._failure
        if self.closed:
            raise ClientClosed("the consumer is closed")
        passing, self._passing_failure = self._passing_failure, None
        if passing is not None:
            raise passing

    def yield_to_reactor(self) -> Deferred[None]:
        """Fires at once, or in the reactor's next turn if it had none for long."""
        if self._reactor.seconds() - self._yielded_at < MAX_BUSY_S:
            return succeed(None)
        return deferLater(self._reactor, 0, self._yielded)

    def _yielded(self) -> None:
        self._yielded_at = self._reactor.seconds()

    async def wait(self, seconds: float | None) -> None:
        """Wait until something may be at hand, or for so long."""
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
