"""Scrapes: one for all who ask at the same time, in turns of the reactor."""

from __future__ import annotations

from itertools import pairwise

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.metrics.samples import Samples, label
from kafkatx.broker.metrics.scraper import MOST_HELD, TURN_S, Scraper
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import METRICS
from kafkatx.broker.metrics.table.exporter import BROKERS
from kafkatx.web.calls import WebError


class Counting:
    """A collector that takes its time."""

    def __init__(self, clock: Clock, steps: int, step_s: float) -> None:
        self.clock, self.steps, self.step_s = clock, steps, step_s
        self.done = self.rounds = 0
        self.waits_for: Deferred[None] | None = None

    def collect(self, samples: Samples) -> Steps:
        """Work, and add a sample for each step."""
        self.rounds += 1
        for number in range(self.steps):
            self.clock.rightNow += self.step_s
            self.done += 1
            samples.add(BROKERS, number, label("step", number))
            yield None
        if self.waits_for is not None:
            yield self.waits_for


class ScraperTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a scraper whose steps take a millisecond of the clock."""
        self.clock = Clock()
        self.collector = Counting(self.clock, 50, 0.001)
        self.scraper = Scraper([self.collector], lambda: Samples(METRICS), self.clock)

    def test_turns(self) -> None:
        """The reactor gets its turn after some milliseconds of work; the longest is told the next time."""
        scraping = self.scraper.scrape()
        done = [self.collector.done]
        while not scraping.called:
            (turn,) = self.clock.calls
            self.clock.calls.remove(turn)
            turn.func(*turn.args, **turn.kw)  # one turn, not all that are due
            done.append(self.collector.done)
        self.assertGreater(len(done), 10)
        self.assertLessEqual(max(after - before for before, after in pairwise(done)) * 0.001, TURN_S + 0.001)
        self.assertEqual(self.successResultOf(scraping).count, 53)
        self.clock.advance(2)
        again = self.scraper.scrape()
        while not again.called:
            self.clock.advance(0)
        text = b"".join(self.successResultOf(again).pieces()).decode()
        self.assertIn("\nkafkatx_metrics_series 53\n", text)
        longest = float(text.split("\nkafkatx_metrics_scrape_longest_turn_seconds ")[1].split()[0])
        self.assertLess(longest, TURN_S + 0.002)

    def scraped(self) -> Samples:
        """Scrape to the end."""
        scraping = self.scraper.scrape()
        while not scraping.called:
            self.clock.advance(0)
        return self.successResultOf(scraping)

    def test_shared(self) -> None:
        """All who ask within a second get one scrape; a client that leaves stops nothing."""
        first, second = self.scraper.scrape(), self.scraper.scrape()
        second.addErrback(lambda _: None).cancel()
        while not first.called:
            self.clock.advance(0)
        third = self.successResultOf(self.scraper.scrape())
        self.assertIs(third, self.successResultOf(first))
        self.assertEqual(self.collector.rounds, 1)
        self.clock.advance(1)
        fourth = self.scraper.scrape()
        while not fourth.called:
            self.clock.advance(0)
        self.assertEqual(self.collector.rounds, 2)

    def test_slow_readers(self) -> None:
        """Clients that read slowly hold a bounded number of scrapes; further ones are refused."""
        self.collector.steps = 1
        held = []
        for _ in range(MOST_HELD):
            self.clock.advance(1)
            held.append(self.scraped().pieces())
            next(held[-1])  # the client has read a piece
        self.clock.advance(1)
        error = self.assertRaises(WebError, self.scraper.scrape)
        self.assertIn("slow clients", str(error))
        held.pop()
        self.scraped()

    def test_waits(self) -> None:
        """A collector may wait for a worker: the scrape goes on when that has answered."""
        self.collector.steps, self.collector.waits_for = 1, Deferred()
        scraping = self.scraper.scrape()
        self.clock.advance(100)
        self.assertNoResult(scraping)
        self.collector.waits_for.callback(None)
        self.assertEqual(self.successResultOf(scraping).count, 4)
