"""The facts of the demonstration's table."""

from __future__ import annotations

from datetime import datetime, timezone

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.facts import Facts

HOURS = tuple(
    (datetime(2015, 5, 17, hour, tzinfo=timezone.utc), count) for hour, count in ((1, 3), (2, 9), (5, 9))
)


class FactsTests(SynchronousTestCase):
    def test_busiest_hour(self) -> None:
        """The busiest hour is the first of those with the most lines."""
        self.assertEqual(Facts(21, 1, 1, 21, per_hour=HOURS).busiest_hour, HOURS[1])

    def test_no_times(self) -> None:
        """Without times there is none."""
        self.assertIsNone(Facts(21, 1, 1, 0).busiest_hour)
