"""Tests of kafkatx.cli.bench.measure: percentiles and the summary."""

from __future__ import annotations

import json
from array import array

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.bench.measure import Measured, percentile


class PercentileTests(SynchronousTestCase):
    def test_nearest_rank(self) -> None:
        """The smallest value that so many do not exceed."""
        hundred = [float(n) for n in range(1, 101)]
        self.assertEqual([percentile(hundred, part) for part in (0.5, 0.99, 0.999)], [50.0, 99.0, 100.0])
        self.assertEqual(percentile([7.0], 0.5), 7.0)
        self.assertIsNone(percentile([], 0.5))

    @settings(deadline=None)
    @given(st.lists(st.floats(0, 1e6), min_size=1).map(sorted), st.floats(0.001, 1))
    def test_any(self, ordered: list[float], part: float) -> None:
        """At least that part of the values is not above it, and less than that part is below it."""
        found = percentile(ordered, part)
        assert found is not None
        self.assertGreaterEqual(sum(value <= found for value in ordered), part * len(ordered))
        self.assertLess(sum(value < found for value in ordered), part * len(ordered))


class SummaryTests(SynchronousTestCase):
    def test_summary(self) -> None:
        """The line has the names that were promised, in plain units."""
        measured = Measured(1000, 200_000, 2.0, array("d", [0.001, 0.002, 0.003]), 0.5)
        self.assertEqual(
            json.dumps(measured.summary()),
            '{"records_per_s": 500.0, "mb_per_s": 0.1, '
            '"latency_ms": {"p50": 2.0, "p99": 3.0, "p999": 3.0}, "cpu_s": 0.5}',
        )

    def test_lines(self) -> None:
        """For people there are the same figures in words."""
        lines = Measured(1000, 200_000, 2.0, array("d", [0.001]), 0.5).lines()
        self.assertEqual(lines[0], "1,000 messages, 200,000 bytes in 2.000 s")
        self.assertEqual(lines[1], "500 messages/s, 0.1 MB/s")
        self.assertEqual(lines[2], "latency p50 1.000 ms, p99 1.000 ms, p999 1.000 ms")

    def test_no_latencies(self) -> None:
        """Without any there is null, not a number."""
        summary = Measured(1, 1, 1.0, array("d"), 0.0).summary()
        self.assertEqual(summary["latency_ms"], {"p50": None, "p99": None, "p999": None})
