"""Producer ids: each is given out once."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.producer_ids import BLOCK, ProducerIds
from tests.broker.running import BrokerTestCase


class ProducerIdTests(BrokerTestCase):
    def test_ids_across_restarts(self) -> None:
        """Ids never repeat: not within a block, not after it, not after a restart."""
        first = ProducerIds(self.broker.metadata)
        given = [self.successResultOf(Deferred.fromCoroutine(first.next())) for _ in range(BLOCK + 1)]
        restarted = ProducerIds(self.broker.metadata)
        given.append(self.successResultOf(Deferred.fromCoroutine(restarted.next())))
        self.assertEqual(len(set(given)), BLOCK + 2)
        self.assertTrue(all(producer_id >= 0 for producer_id in given))
