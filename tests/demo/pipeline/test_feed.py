"""Tests of kafkatx.demo.pipeline.feed."""

from __future__ import annotations

import io

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline.feed import feed


class FeedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Two front ends, and a clock that sleeping advances."""
        self.inputs = [io.BytesIO(), io.BytesIO()]
        self.clock = Clock()
        self.passed: list[tuple[int, float]] = []

    def feed(self, count: int, per_second: float | None) -> int:
        """Feed events, and note when they passed."""
        return feed(
            [("t", b"%d" % number) for number in range(count)],
            self.inputs,
            per_second,
            lambda passed: self.passed.append((passed, self.clock.seconds())),
            self.clock.seconds,
            self.clock.advance,
        )

    def test_turns(self) -> None:
        """Each front end gets the next event, a line with topic and message."""
        self.assertEqual(self.feed(3, None), 3)
        self.assertEqual([one.getvalue() for one in self.inputs], [b"t 0\nt 2\n", b"t 1\n"])
        self.assertEqual(self.passed, [(3, 0.0)])

    def test_rate(self) -> None:
        """Events come at an even rate, in pieces of a twentieth of a second."""
        self.assertEqual(self.feed(100, 500.0), 100)
        self.assertEqual([count for count, _ in self.passed], [25, 50, 75, 100])
        for expected, (_, found) in zip((0.0, 0.05, 0.1, 0.15), self.passed, strict=True):
            self.assertAlmostEqual(found, expected)

    def test_late(self) -> None:
        """A delay is made up for: nothing waits then."""
        self.clock.advance(1.0)

        def passed(count: int) -> None:
            self.clock.advance(10.0)

        feed([("t", b"")] * 10, self.inputs, 20.0, passed, self.clock.seconds, self.fail)
