"""Samples of several brokers as those of one."""

from __future__ import annotations

from math import isnan, nan

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.total import join_columns, join_latest


class TotalTests(SynchronousTestCase):
    def test_latest(self) -> None:
        """Rates and counts are added; the cluster is as idle as its busiest broker."""
        found = join_latest([{"bytesIn": 1.0, "reactorIdle": 0.9}, {"bytesIn": 2.0, "reactorIdle": 0.2}, {}])
        self.assertEqual(found, {"bytesIn": 3.0, "reactorIdle": 0.2})
        self.assertEqual(join_latest([]), {})

    def test_columns(self) -> None:
        """A broker that was away adds nothing; nothing is known of a time in which all were."""
        found = join_columns("lag:g", [[1.0, nan, nan], [2.0, 3.0, nan]])
        self.assertEqual(list(found[:2]), [3.0, 3.0])
        self.assertTrue(isnan(found[2]))
        self.assertEqual(list(join_columns("reactorIdle", [[0.5, 0.1], [0.4, 0.3]])), [0.4, 0.1])
        self.assertEqual(list(join_columns("syncMs", [[5.0], [7.0]])), [7.0])
        self.assertEqual(list(join_columns("syncMs", [[5.0]])), [5.0])
