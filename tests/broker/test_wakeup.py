"""Tests of the wait of a fetcher."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.wakeup import Wakeup


class WakeupTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a wake-up whose timer counts and wakes."""
        self.clock, self.rings = Clock(), 0
        self.clock.advance(10)
        self.wakeup = Wakeup(self.clock, self.ring)

    def ring(self) -> None:
        """Count, and wake."""
        self.rings += 1
        self.wakeup.wake()

    def wait(self, *ends_s: float) -> Deferred[None]:
        """Begin a wait."""
        return Deferred.fromCoroutine(self.wakeup.wait(ends_s))

    def test_woken(self) -> None:
        """A wait ends when it is woken, once, and its timer with it."""
        waiting = self.wait(20)
        self.assertNoResult(waiting)
        self.assertTrue(self.wakeup.wake())
        self.successResultOf(waiting)
        self.assertFalse(self.wakeup.wake())
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_first_end(self) -> None:
        """The first time that is to come ends a wait; times that have passed do not count."""
        waiting = self.wait(5, 30, 12)
        self.clock.advance(1)
        self.assertNoResult(waiting)
        self.clock.advance(1)
        self.successResultOf(waiting)
        self.assertEqual((self.rings, self.clock.getDelayedCalls()), (1, []))

    def test_without_end(self) -> None:
        """Without a time to come a wait has no timer."""
        self.assertNoResult(self.wait(10, 3).addErrback(lambda _: None))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_timer_alone(self) -> None:
        """The timer rings while nothing waits, unless it is stopped."""
        self.wakeup.set_timer([11])
        self.clock.advance(1)
        self.wakeup.set_timer([12])
        self.wakeup.stop_timer()
        self.clock.advance(5)
        self.assertEqual(self.rings, 1)

    def test_cancelled(self) -> None:
        """A wait that is cancelled leaves no timer, and nothing to wake."""
        waiting = self.wait(20)
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertEqual((self.wakeup.wake(), self.clock.getDelayedCalls()), (False, []))
