"""The meter of a reactor: idle and busy time, slow turns, and reactors that cannot be measured."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.poll_meter import PollMeter, measure_polls
from kafkatx.net.reactors import close_reactor, new_reactor


class FakePoller:
    """A poller that waits for a time of the test's."""

    def __init__(self, clock: Clock) -> None:
        self.wait_s = 0.0
        self.asked: list[tuple[object, ...]] = []
        self._clock = clock
        self.register = self.modify = self.unregister = self.fileno = self.close = lambda: None

    def poll(self, *arguments: object) -> list[int]:
        """Wait."""
        self.asked.append(arguments)
        self._clock.advance(self.wait_s)
        return [7]


class PollMeterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a meter."""
        self.clock = Clock()
        self.poller = FakePoller(self.clock)
        self.meter = PollMeter(self.poller, self.clock.seconds)

    def turn(self, busy_s: float, idle_s: float) -> None:
        """Work, and wait."""
        self.clock.advance(busy_s)
        self.poller.wait_s = idle_s
        self.assertEqual(self.meter.poll(0.5, 10), [7])

    def test_times(self) -> None:
        """Waiting is idle time, the rest is busy; a turn of more than 0.1 s is slow."""
        self.turn(0.05, 1.0)
        self.turn(0.25, 0.5)
        self.assertEqual(self.poller.asked, [(0.5, 10)] * 2)
        self.assertAlmostEqual(self.meter.idle_s, 1.5)
        self.assertAlmostEqual(self.meter.busy_s, 0.3)
        self.assertEqual((self.meter.turns, self.meter.slow_turns), (2, 1))

    def test_share(self) -> None:
        """The idle share is that of the time since it was asked for last, a second ago at least."""
        self.turn(3, 1)
        self.assertAlmostEqual(self.meter.idle_share(), 0.25)
        self.turn(0.5, 0)
        self.assertAlmostEqual(self.meter.idle_share(), 0.25)
        self.turn(0, 1.5)
        self.assertAlmostEqual(self.meter.idle_share(), 0.75)

    def test_real(self) -> None:
        """A reactor of epoll is measured once, however many brokers it has; a clock is not."""
        reactor = new_reactor()
        self.addCleanup(close_reactor, reactor)
        meter = measure_polls(reactor)
        self.assertIs(measure_polls(reactor), meter)
        if meter is not None:
            reactor.callLater(0.01, lambda: None)
            reactor.iterate(1)
            self.assertEqual(meter.turns, 1)
        self.assertIsNone(measure_polls(Clock()))
