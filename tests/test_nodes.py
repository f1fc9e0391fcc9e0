"""Brokers and the addresses of their listeners."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.nodes import BrokerNode, Endpoint


class NodeTests(SynchronousTestCase):
    def test_address(self) -> None:
        """A listener's clients get its address; those of an unknown one the first."""
        both = Endpoint("IN", "in.example", 1), Endpoint("OUT", "out.example", 2, "SSL")
        node = BrokerNode(1, "in.example", 1, endpoints=both)
        self.assertEqual(node.address("OUT"), ("out.example", 2))
        self.assertEqual(node.address("OTHER"), ("in.example", 1))
        self.assertEqual(BrokerNode(1, "h", 9).address("OUT"), ("h", 9))

    def test_text(self) -> None:
        """An endpoint is written as in advertised.listeners."""
        self.assertEqual(str(Endpoint("A", "::1", 9092)), "A://[::1]:9092")
