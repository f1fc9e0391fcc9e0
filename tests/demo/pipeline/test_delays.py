"""Tests of kafkatx.demo.pipeline.delays."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline.delays import Delays


class DelaysTests(SynchronousTestCase):
    def test_percentiles(self) -> None:
        """A percentile is the smallest delay that so many do not exceed."""
        delays = Delays({1: 50, 10: 45, 100: 4, 1000: 1})
        found = [delays.percentile(percent) for percent in (0, 50, 50.1, 95, 99, 100)]
        self.assertEqual(found, [1, 1, 10, 10, 100, 1000])

    def test_nothing(self) -> None:
        """Without delays there is no percentile."""
        self.assertIs(Delays().percentile(50), None)

    def test_clock_set_back(self) -> None:
        """A negative delay counts as 0."""
        delays = Delays()
        delays.add(-5)
        self.assertEqual((delays.count, delays.percentile(100)), (1, 0))

    def test_merged(self) -> None:
        """The counts of several programs are added up."""
        told = [json.loads(json.dumps(Delays({7: 2, 8: 1}).to_object())) for _ in range(2)]
        self.assertEqual(Delays.merged(told).to_object(), {"7": 4, "8": 2})
