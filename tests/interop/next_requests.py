"""Every next request in every state of a transactional id, asked at Apache Kafka 4.

The answers are in :mod:`tests.transactions.next_requests`; :mod:`tests.integration.test_next_requests` asks
kafkatx. :data:`DIFFERENCES` has what Apache Kafka answers otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.clientcore.coordinators import TRANSACTION, find_request
from kafkatx.transactions.metadata import TV1
from tests.clients.brokers import ApacheBroker
from tests.clients.toolchains import prepare
from tests.integration.next_requests import CELLS, SETTINGS, Cell, Side, differences
from tests.transactions.next_requests import VERSIONS, Situation

_TELLS = {
    "InitProducerId v4 current": "+1",
    "EndTxn commit v5 current": "INVALID_TXN_STATE",
    "EndTxn abort v5 current": "+1",
}
_KNOWN: Mapping[tuple[Situation, int, str], str] = {
    (Situation.COMPLETE_COMMIT, TV1, "EndTxn commit v5 before"): "+0",
    (Situation.COMPLETE_COMMIT, TV1, "EndTxn abort v5 before"): "INVALID_TXN_STATE",
    (Situation.COMPLETE_ABORT, TV1, "EndTxn commit v5 before"): "INVALID_TXN_STATE",
    (Situation.COMPLETE_ABORT, TV1, "EndTxn abort v5 before"): "+0",
    **{(Situation.FENCED, version, label): told for version in VERSIONS for label, told in _TELLS.items()},
    **{(Situation.RECOVERED, TV1, label): told for label, told in _TELLS.items() if "v5" in label},
}
"""What Apache Kafka answers otherwise: it tells a fenced producer the epoch that fences it, and an EndTxn of
version 5 counts as the repetition of one of an older version."""

DIFFERENCES: Mapping[Cell, str] = {
    cell: _KNOWN[cell[0], cell[1], cell[2].label]
    for cell in CELLS
    if (cell[0], cell[1], cell[2].label) in _KNOWN
}


class NextRequestTests(SynchronousTestCase):
    timeout = 600

    def test_apache(self) -> None:
        """Apache Kafka gives the answers of the table, but for the known differences."""
        prepare("java-4")
        first = ApacheBroker("4", SETTINGS)
        self.addCleanup(first.close)
        first.start()
        with Cluster(first.bootstrap) as cluster:  # the topic is made while there is one broker
            cluster.any_broker().request(find_request("any", TRANSACTION), 4)
        second = ApacheBroker("4", SETTINGS, controller=first)
        self.addCleanup(second.close)
        second.start()
        side = Side(first.bootstrap, {0: first.pid, 1: second.pid})
        self.addCleanup(side.close)
        found = differences(side, DIFFERENCES)
        self.assertEqual(found, [], "\n".join(found))
