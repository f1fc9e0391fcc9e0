"""Tests of kafkatx.cli.bench.loads: what is sent, and when."""

from __future__ import annotations

import time
import zlib
from itertools import islice

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.bench import loads
from kafkatx.cli.bench.loads import MARK, Load, Pace, _marked


class LoadTests(SynchronousTestCase):
    def test_batches(self) -> None:
        """Values have the size, batches the count; no two values in a row are the same."""
        batches = Load("t", 40, 7, 100).batches()
        self.assertEqual({len(batch) for batch in batches}, {7})
        values = [value for batch in batches for value in batch]
        self.assertEqual({len(value) for value in values}, {40})
        self.assertEqual(len(values), len(set(values)))
        self.assertEqual(batches, Load("t", 40, 7, 5).batches())

    def test_compressible(self) -> None:
        """They are neither noise nor like each other: a batch compresses to about what the docstring says."""
        batch = b"".join(Load("t", 200, 500, 1).batches()[0])
        self.assertLess(abs(len(zlib.compress(batch)) / len(batch) - 5 / 8), 0.06)

    def test_large(self) -> None:
        """Large values do not fill the memory, but there are always two."""
        self.assertEqual(len(Load("t", 200, 50, 1).batches()), loads.DIFFERENT_BATCHES)
        self.assertEqual(len(Load("t", 1 << 20, 4, 1).batches()), 4)
        self.assertEqual(len(Load("t", 1 << 20, 50, 1).batches()), 2)

    def test_empty(self) -> None:
        """Values without a byte are values."""
        self.assertEqual(Load("t", 0, 2, 2).batches()[0], [b"", b""])

    def test_marked(self) -> None:
        """A marked value keeps its size, and says which run it is of and when it was made."""
        self.patch(time, "perf_counter", lambda: 4.5)
        (batch,) = islice(_marked(Load("t", 30, 2, 2).batches(), 77), 1)
        self.assertEqual([(len(value), MARK.unpack_from(value)) for value in batch], [(30, (77, 4.5))] * 2)


class PaceTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A clock for both: the reactor and perf_counter."""
        self.clock = Clock()
        self.patch(time, "perf_counter", self.clock.seconds)

    def test_rate(self) -> None:
        """The message after 5 is due half a second after the beginning, at ten a second."""
        pace = Pace(self.clock, 10.0)
        waiting = Deferred.fromCoroutine(pace.wait(5))
        self.clock.advance(0.49)
        self.assertNoResult(waiting)
        self.clock.advance(0.02)
        self.successResultOf(waiting)
        self.successResultOf(Deferred.fromCoroutine(pace.wait(5)))

    def test_breath(self) -> None:
        """Without a rate nothing waits, but the reactor gets a turn now and then."""
        pace = Pace(self.clock, 0.0)
        self.successResultOf(Deferred.fromCoroutine(pace.wait(1)))
        self.clock.advance(loads.YIELD_EVERY_S)
        waiting = Deferred.fromCoroutine(pace.wait(2))
        self.assertNoResult(waiting)
        self.clock.advance(0)
        self.successResultOf(waiting)
