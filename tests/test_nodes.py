"""Brokers and the addresses of their listeners."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.nodes import BrokerNode, BrokerProcess, Endpoint


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


class ProcessTests(SynchronousTestCase):
    def test_has_taken(self) -> None:
        """A process has ended if another one has all its locks, in one boot."""
        locks = {"/a": "1:1", "/b": "1:2"}
        past = BrokerProcess(7, "boot", locks)
        for boot_id, held, taken in (
            ("boot", locks, True),
            ("boot", {"/moved": "1:1", "/b": "1:2", "/new": "1:3"}, True),
            ("boot", {"/a": "1:1"}, False),
            ("boot", {"/a": "2:1", "/b": "1:2"}, False),
            ("later", locks, False),
        ):
            self.assertEqual(BrokerProcess(8, boot_id, held).has_taken(past), taken)
        self.assertFalse(BrokerProcess(8, "", locks).has_taken(BrokerProcess(7, "", locks)))
        self.assertFalse(BrokerProcess(8, "boot", locks).has_taken(BrokerProcess(7, "boot", {})))
