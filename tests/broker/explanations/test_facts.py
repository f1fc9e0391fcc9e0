"""Facts: what follows from offsets."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from tests.broker.explanations.situations import GROUP, PARTITION, behind


class PartitionFactsTests(SynchronousTestCase):
    def test_lag(self) -> None:
        """The lag counts from the log's start, and is 0 where this broker does not know it."""
        self.assertEqual((PARTITION.lag, behind(7).lag), (0, 7))
        self.assertEqual(attrs.evolve(behind(90), log_start_offset=60).lag, 40)
        self.assertEqual(attrs.evolve(behind(90), here=False).lag, 0)
        self.assertEqual(attrs.evolve(GROUP, partitions=(behind(7), behind(5, 1))).lag, 12)

    def test_held_back(self) -> None:
        """Records above the last stable offset are held back."""
        self.assertEqual(attrs.evolve(PARTITION, last_stable_offset=93).held_back, 7)
        self.assertEqual(attrs.evolve(PARTITION, last_stable_offset=93, here=False).held_back, 0)
