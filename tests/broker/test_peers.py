"""Connections to the other brokers."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.errors import KafkaTXError
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest
from tests.broker.brokers import ClusterOfBrokersCase


class PeersTests(ClusterOfBrokersCase):
    def request(self, node_id: int = 2) -> Deferred[Any]:
        """Send a request from broker 1 to another."""
        one = self.brokers[1]
        return one.broker.peers.request(one.metadata.state.brokers[node_id], ListTransactionsRequest())

    def test_request(self) -> None:
        """A request is answered, and the connection is kept for the next one."""
        for _ in range(2):
            self.assertEqual(self.run_to_end(self.request()).error_code, 0)
        self.assertEqual(len(self.brokers[1].broker.peers._connections), 1)

    def test_again(self) -> None:
        """A broker that has started again gets a new connection; the old one is closed."""
        self.run_to_end(self.request())
        (before,) = self.brokers[1].broker.peers._connections.values()
        self.stop(2)
        self.start(2)
        self.advance(1)
        self.assertEqual(self.run_to_end(self.request()).error_code, 0)
        (after,) = self.brokers[1].broker.peers._connections.values()
        self.assertNotEqual(before[0], after[0])
        self.assertFalse(before[1].connected)

    def test_gone(self) -> None:
        """A broker that is gone cannot be asked."""
        node = self.brokers[1].metadata.state.brokers[2]
        self.kill(2)
        waiting = self.brokers[1].broker.peers.request(node, ListTransactionsRequest())
        failed: list[Any] = []
        waiting.addErrback(failed.append)
        self.advance(30)
        self.assertTrue(failed[0].check(KafkaTXError))

    def test_stop(self) -> None:
        """All connections are closed."""
        self.run_to_end(self.request())
        peers = self.brokers[1].broker.peers
        self.run_to_end(peers.stop())
        self.assertFalse(any(connection.connected for _, connection in peers._connections.values()))
        self.failureResultOf(self.request(), KafkaTXError)
