"""Every next request in every state of a transactional id, asked at two brokers."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedCluster
from tests.integration.next_requests import SETTINGS, Side, differences


class NextRequestTests(SynchronousTestCase):
    def test_all(self) -> None:
        """The brokers give the answers of the table, also while markers cannot be written."""
        cluster = EmbeddedCluster(2, SETTINGS, run_in="process").start()
        self.addCleanup(cluster.close)
        side = Side(cluster.bootstrap, {number: one.pid or 0 for number, one in cluster.brokers.items()})
        self.addCleanup(side.close)
        found = differences(side, {})
        self.assertEqual(found, [], "\n".join(found))
