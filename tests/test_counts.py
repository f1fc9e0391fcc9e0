"""Counts start at zero and only grow."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.counts import PartitionCounts, RequestCounts, WriteCounts


class CountsTests(SynchronousTestCase):
    def test_start(self) -> None:
        """Each count of a log and of a partition is zero at first."""
        for counts in (WriteCounts(), PartitionCounts()):
            self.assertEqual({getattr(counts, name) for name in counts.__slots__}, {0})

    def test_refused(self) -> None:
        """Refused requests are counted by their error."""
        counts = RequestCounts("Produce", 9, "")
        for code in (3, 3, 87):
            counts.refuse(code)
        self.assertEqual(counts.refused, {3: 2, 87: 1})
