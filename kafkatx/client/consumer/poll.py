"""How an application gets records: one that asks at a time, and what happens when it asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import deferLater

from kafkatx.clientcore.consumer.partition_state import Hand
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.consumer.subscription_state import Positions
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import TopicPartition

BREATH_S = 0.02
"""So long an application may be given records that are at hand, before the reactor gets a turn: else a loop
over them would let no heartbeat out."""


class Reading:
    """The application's side of a consumer.

    Who asks for more is done with what was had before. Waiting for more does not count as work.

    :ivar settled: fires when the application has asked for more.
    :ivar closed: nothing more is given.
    """

    def __init__(self, reactor: Any, positions: Positions, alive: Callable[[bool], None]) -> None:
        """Make it.

        :param alive: called when the application asks: with True when it waits, else when it gets something.
        """
        self.settled: Waiters[None] = Waiters()
        self.closed = False
        self._reactor = reactor
        self._positions = positions
        self._alive = alive
        self._failure: BaseException | None = None
        self._passing: BaseException | None = None
        self._busy = False
        self._waiter: Deferred[None] | None = None
        self._breathed = reactor.seconds()

    @property
    def reading(self) -> bool:
        """Whether somebody asks."""
        return self._busy

    def arrived(self) -> None:
        """Something may be at hand: whoever waits looks."""
        if self._positions.shelf or self.closed or self._failure or self._passing:
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
            self._passing = error
        self.arrived()

    def close(self) -> None:
        """Give nothing more: who waits gets ClientClosed."""
        self.closed = True
        self.arrived()

    def begin(self) -> None:
        """Somebody begins to ask.

        :raises KafkaTXError: somebody else does.
        """
        if self._busy:
            raise KafkaTXError("somebody reads from this consumer already: one at a time")
        self._busy = True

    def end(self) -> None:
        """Whoever asked is done."""
        self._busy = False

    async def take(self, limit: int, timeout_s: float | None) -> dict[TopicPartition, list[Record]]:
        """The next records by partition; empty after the time-out (None: never).

        :raises KafkaTXError: what stands in their place; ClientClosed.
        """
        self.begin()
        try:
            await self.breathe()
            end = None if timeout_s is None else self._reactor.seconds() + timeout_s
            while True:
                self.ask()
                found = self._positions.take(limit)
                left = None if end is None else end - self._reactor.seconds()
                if found or (left is not None and left <= 0):
                    self._alive(False)
                    return found
                self._alive(True)
                await self.wait(left)
        finally:
            self.end()

    async def give(self, limit: int) -> Hand:
        """The next records of one partition, one by one; waits for ever.

        :raises KafkaTXError: what stands in their place; ClientClosed.
        """
        self.begin()
        try:
            await self.breathe()
            while True:
                self.ask()
                hand = self._positions.give(limit)
                if hand is not None:
                    self._alive(False)
                    return hand
                self._alive(True)
                await self.wait(None)
        finally:
            self.end()

    def ask(self) -> None:
        """The application asks for more: what it had is done.

        :raises KafkaTXError: it gets an error instead.
        """
        self.check()
        self._positions.settle()
        self.settled.fire(None)

    def check(self) -> None:
        """See whether the application may have records.

        :raises KafkaTXError: it gets an error instead.
        """
        if self._failure is not None:
            raise self._failure
        if self.closed:
            raise ClientClosed("the consumer is closed")
        passing, self._passing = self._passing, None
        if passing is not None:
            raise passing

    def breathe(self) -> Deferred[None]:
        """Fires at once, or in the reactor's next turn if it had none for long."""
        if self._reactor.seconds() - self._breathed < BREATH_S:
            return succeed(None)
        return deferLater(self._reactor, 0, self._breath)

    def _breath(self) -> None:
        self._breathed = self._reactor.seconds()

    async def wait(self, seconds: float | None) -> None:
        """Wait until something may be at hand, or for so long."""
        waiter = self._waiter = Deferred()
        timer: IDelayedCall | None = None
        if seconds is not None:
            timer = self._reactor.callLater(seconds, self._time_out, waiter)
        try:
            self.arrived()
            await waiter
        finally:
            if self._waiter is waiter:
                self._waiter = None
            if timer is not None and timer.active():
                timer.cancel()
            self._breath()

    def _time_out(self, waiter: Deferred[None]) -> None:
        if self._waiter is waiter:
            self._waiter = None
            waiter.callback(None)
