"""Tests of kafkatx.networkclient.metadata_refresh."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed
from kafkatx.networkclient.metadata_refresh import MetadataRefresh


class RefreshingTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make metadata that is refreshed after 300 s, and at most ten times a second."""
        self.clock = Clock()
        self.clock.advance(1000)
        self.asked: list[float] = []
        self.replies: list[Deferred[None]] = []
        backoff = Backoff(first_ms=100, longest_ms=1000)
        self.refreshing = MetadataRefresh(self.clock, self.ask, backoff, 300, "h:1")

    async def ask(self) -> None:
        """Record the time, and wait for the test's response."""
        self.asked.append(round(self.clock.seconds() - 1000, 3))
        self.replies.append(Deferred())
        await self.replies[-1]

    def reply(self) -> None:
        """Fire the response."""
        self.replies[-1].callback(None)

    def refuse(self) -> None:
        """Fail the request as if no broker answered."""
        self.replies[-1].errback(ConnectionFailed("refused"))

    def test_age(self) -> None:
        """Metadata is refreshed when its age, counted from the last response, is too high."""
        self.refreshing.fresh()
        self.clock.advance(299)
        self.refreshing.fresh()
        self.clock.advance(299)
        self.assertEqual(self.asked, [])
        self.clock.advance(1)
        self.assertEqual(self.asked, [599])
        self.reply()
        self.clock.advance(300)
        self.assertEqual(self.asked, [599, 899])

    def test_age_changes(self) -> None:
        """A new age counts from the last response, also for a pending refresh; 0 refreshes at once."""
        self.refreshing.fresh()
        self.clock.advance(100)
        self.refreshing.set_max_age(150)
        self.clock.advance(49)
        self.assertEqual(self.asked, [])
        self.clock.advance(1)
        self.assertEqual(self.asked, [150])
        self.reply()
        self.clock.advance(10)
        self.refreshing.set_max_age(5)
        self.clock.advance(0)
        self.assertEqual(self.asked, [150, 160])

    def test_shared(self) -> None:
        """Concurrent callers share one request, even if it is in flight."""
        first = self.refreshing.next()
        self.refreshing.stale()
        second = self.refreshing.next()
        self.assertEqual(len(self.asked), 1)
        self.reply()
        self.successResultOf(first)
        self.successResultOf(second)

    def test_not_too_often(self) -> None:
        """Requests are separated by a pause, however often metadata is reported stale."""
        for _ in range(20):
            self.refreshing.stale()
            if not self.replies[-1].called:
                self.reply()
            self.clock.advance(0.03)
        self.assertEqual(self.asked, [0, 0.12, 0.24, 0.36, 0.48, 0.6])

    def test_warns_while_it_waits(self) -> None:
        """A warning is logged after 5 s without an answer, and whenever the wait has doubled."""
        waiting = self.refreshing.next()
        told: list[int] = []
        with capturedLogs() as events:
            for second in range(60):
                self.refuse()
                self.clock.advance(1)
                told += [second + 1] * (len(events) - len(told))
            self.reply()
        self.successResultOf(waiting)
        self.assertEqual([event["log_level"] for event in events[:-1]], [LogLevel.warn] * len(told))
        self.assertEqual(told, [5, 10, 20, 40])
        expected = "no broker at h:1 for 5 s; trying until one answers: refused"
        self.assertEqual(formatEvent(events[0]), expected)
        self.assertIn("a broker has answered after 60 s", formatEvent(events[-1]))

    def test_until_it_comes(self) -> None:
        """Failed requests are repeated with growing pauses, and callers wait meanwhile."""
        waiting = self.refreshing.next()
        for pause in (0.2, 0.4, 0.8, 1.0, 1.0):
            self.refuse()
            self.clock.advance(pause - 0.01)
            self.assertNotIn(round(self.clock.seconds() - 1000, 3), self.asked)
            self.clock.advance(0.01)
        self.assertEqual(self.asked, [0, 0.2, 0.6, 1.4, 2.4, 3.4])
        self.assertNoResult(waiting)
        self.reply()
        self.successResultOf(waiting)
        self.refreshing.stale()
        self.clock.advance(0.1)
        self.assertEqual(self.asked[-1], 3.5)  # the pauses are short again

    def test_cancel(self) -> None:
        """A cancelled caller leaves the request to the others."""
        first, second = self.refreshing.next(), self.refreshing.next()
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.reply()
        self.successResultOf(second)

    def test_close(self) -> None:
        """A close cancels the request, stops timers, and fails waiting and later callers."""
        waiting = self.refreshing.next()
        self.refreshing.close()
        self.failureResultOf(waiting, ClientClosed)
        self.failureResultOf(self.refreshing.next(), ClientClosed)
        self.refreshing.stale()
        self.assertEqual((len(self.asked), self.clock.getDelayedCalls()), (1, []))

    def test_close_at_rest(self) -> None:
        """A close stops the timer of the age, and a pause between two requests."""
        self.refreshing.fresh()
        self.refreshing.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.setUp()
        self.refreshing.fresh()
        self.refreshing.stale()
        self.refreshing.close()
        self.assertEqual((self.clock.getDelayedCalls(), self.asked), ([], []))
