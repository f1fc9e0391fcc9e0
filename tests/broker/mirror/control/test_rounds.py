"""Rounds of work on a clock."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.mirror.control.rounds import AFTER_FAILURE_S, Rounds
from kafkatx.net.limited_log import LimitedLog


class RoundsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make rounds whose work waits for the test."""
        self.clock = Clock()
        self.begun = 0
        self.waiting: Deferred[float] = Deferred()
        self.rounds = Rounds(self.clock, self.work, "the work", LimitedLog(Logger(), self.clock, 10))

    async def work(self) -> float:
        """Wait for the test."""
        self.begun += 1
        self.waiting = Deferred()
        return await self.waiting

    def wake(self) -> None:
        """Wake the rounds."""
        self.rounds.wake()
        self.clock.advance(0)

    def test_pauses(self) -> None:
        """A round follows after the pause that the last one asked for; one at a time."""
        self.wake()
        self.clock.advance(100)
        self.assertEqual(self.begun, 1)
        self.waiting.callback(5.0)
        self.clock.advance(4.9)
        self.assertEqual(self.begun, 1)
        self.clock.advance(0.2)
        self.assertEqual(self.begun, 2)

    def test_woken(self) -> None:
        """Waking ends a pause; waking in the middle of a round makes one more."""
        self.wake()
        self.rounds.wake()
        self.waiting.callback(100.0)
        self.clock.advance(0)
        self.assertEqual(self.begun, 2)
        self.waiting.callback(100.0)
        self.clock.advance(1)
        self.assertEqual(self.begun, 2)
        self.wake()
        self.assertEqual(self.begun, 3)

    def test_failure(self) -> None:
        """A failed round is logged and made again later."""
        self.wake()
        self.waiting.errback(ZeroDivisionError())
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.clock.advance(AFTER_FAILURE_S)
        self.assertEqual(self.begun, 2)

    def test_stop(self) -> None:
        """Stopping cancels the waiting of a round, or a pause; nothing is left."""
        self.wake()
        self.successResultOf(self.rounds.stop())
        self.rounds.wake()
        self.clock.advance(100)
        self.assertEqual((self.begun, self.clock.getDelayedCalls()), (1, []))
        again = Rounds(self.clock, self.work, "the work", LimitedLog(Logger(), self.clock, 10))
        again.wake()
        self.successResultOf(again.stop())
        self.assertEqual((self.begun, self.clock.getDelayedCalls()), (1, []))
