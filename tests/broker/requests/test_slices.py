"""Long lists of answers, made in slices."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.requests.slices import AT_ONCE, Slices


class SlicesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make slices on a clock."""
        self.clock = Clock()
        self.slices = Slices(self.clock)

    def test_short_lists_at_once(self) -> None:
        """A list of usual length is made at once, without a Deferred."""
        self.assertEqual(self.slices.each(range(AT_ONCE), str), [str(n) for n in range(AT_ONCE)])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_long_lists_in_turns(self) -> None:
        """A long list is made from the reactor's next turn on, completely and in order."""
        asked = range(2 * AT_ONCE)
        made: list[int] = []

        def make(number: int) -> int:
            made.append(number)
            return number

        done = self.slices.each(asked, make)
        assert isinstance(done, Deferred)
        self.assertEqual(made, [])
        while not done.called:
            self.clock.advance(0)
        self.assertEqual(self.successResultOf(done), list(asked))

    def test_cancelled(self) -> None:
        """A cancelled list is not continued, and leaves no delayed call."""
        done = self.slices.each(range(2 * AT_ONCE), lambda n: self.fail("made all the same"))
        assert isinstance(done, Deferred)
        done.cancel()
        self.failureResultOf(done, CancelledError)
        self.clock.advance(0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_failure(self) -> None:
        """An exception is the Deferred's failure."""
        done = self.slices.each(range(2 * AT_ONCE), lambda n: 1 // 0)
        assert isinstance(done, Deferred)
        self.clock.advance(0)
        self.failureResultOf(done, ZeroDivisionError)
