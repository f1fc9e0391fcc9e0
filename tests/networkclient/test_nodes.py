"""Tests of kafkatx.networkclient.nodes."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.bootstrap import Address
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.networkclient.nodes import Nodes
from kafkatx.types import BrokerNode


class FakeConnection:
    """The part of a connection that Nodes uses."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.connected = False
        self.failing = False
        self.in_flight = 0
        self.closed: Any = None

    def close(self, error: Any = "closed") -> Deferred[None]:
        """Record the error."""
        self.closed = error
        return succeed(None)


def node(number: int, port: int = 9092) -> BrokerNode:
    """Return a broker."""
    return BrokerNode(number, f"broker{number}", port)


class NodesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two bootstrap servers, one of them broker 1, and three brokers."""
        self.made: list[FakeConnection] = []
        self.nodes = Nodes([("broker1", 9092), ("front", 9092)], self.make)
        self.nodes.update({number: node(number) for number in (1, 2, 3)})

    def make(self, address: Address) -> Any:
        """Return a connection."""
        self.made.append(FakeConnection(address))
        return self.made[-1]

    def test_one_per_broker_and_lane(self) -> None:
        """A broker has one connection per lane, which a bootstrap server at its address shares."""
        first = self.nodes.at(1)
        self.assertIs(self.nodes.at(1), first)
        self.assertIn(first, self.nodes.candidates())
        self.assertIsNot(self.nodes.at(1, "group"), first)
        self.assertIsNot(self.nodes.at(2), first)
        self.assertEqual(
            sorted(one.address[0] for one in self.made), ["broker1"] * 2 + ["broker2", "broker3", "front"]
        )

    def test_candidates(self) -> None:
        """Candidates are connected brokers by load, then others, then failed ones, then bootstrap servers."""
        one, two, three = (self.nodes.at(number) for number in (1, 2, 3))
        self.made[0].failing = True
        self.made[1].connected, self.made[1].in_flight = True, 5
        for _ in range(10):
            self.assertEqual(self.nodes.candidates()[:3], [two, three, one])
        self.made[2].connected = True
        for _ in range(10):
            found: list[Any] = list(self.nodes.candidates())
            self.assertEqual([each.address[0] for each in found], ["broker3", "broker2", "broker1", "front"])

    def test_spread(self) -> None:
        """The first of equal candidates is chosen at random."""
        firsts = {id(self.nodes.candidates()[0]) for _ in range(200)}
        self.assertEqual(len(firsts), 3)

    def test_bootstrap_in_order(self) -> None:
        """The bootstrap servers are asked in their order before any broker is known."""
        found: list[Any] = list(Nodes([("b", 1), ("a", 2)], self.make).candidates())
        self.assertEqual([each.address for each in found], [("b", 1), ("a", 2)])

    def test_moved(self) -> None:
        """A broker at another address gets another connection; the old one is closed, as a failed one."""
        before: Any = self.nodes.at(2)
        stays, front = self.nodes.at(3), self.nodes.candidates()[-1]
        self.nodes.update({1: node(1), 2: node(2, 9999), 3: node(3)})
        after: Any = self.nodes.at(2)
        self.assertEqual(after.address, ("broker2", 9999))
        self.assertIsInstance(before.closed, ConnectionFailed)
        self.assertIs(self.nodes.at(3), stays)
        self.assertIs(self.nodes.candidates()[-1], front)

    def test_gone(self) -> None:
        """A broker that left the cluster has no connection."""
        before: Any = self.nodes.at(2)
        self.nodes.update({1: node(1), 3: node(3)})
        self.assertIsInstance(before.closed, ConnectionFailed)
        self.assertFalse(self.nodes.known(2))
        error = self.assertRaises(ConnectionFailed, self.nodes.at, 2)
        self.assertEqual(str(error), "the cluster has no broker 2 now")

    def test_other_bootstrap_servers(self) -> None:
        """Other bootstrap servers replace the first ones; connections that no broker has are closed."""
        self.nodes.add(node(4, 1000))
        one, front = self.nodes.at(1), self.nodes.candidates()[-1]
        four: Any = self.nodes.at(4)
        self.nodes.set_bootstrap([("back", 9092), ("broker2", 9092)])
        gone: Any = front
        self.assertIsInstance(gone.closed, ConnectionFailed)
        self.assertIs(self.nodes.at(1), one)
        self.assertIsNone(four.closed)
        found: list[Any] = list(self.nodes.candidates())
        self.assertEqual([each.address[0] for each in found[3:]], ["back"])
        self.assertEqual([each.closed for each in found], [None] * 4)

    def test_told(self) -> None:
        """A broker known from a coordinator's response alone can be used until metadata has it."""
        self.nodes.add(node(4, 1000))
        self.nodes.add(node(1, 1000))
        four: Any = self.nodes.at(4, "group")
        one: Any = self.nodes.at(1)
        self.assertEqual((four.address, one.address), (("broker4", 1000), ("broker1", 9092)))
        self.nodes.add(node(4, 1001))
        moved: Any = self.nodes.at(4, "group")
        self.assertEqual(moved.address, ("broker4", 1001))
        self.nodes.update({number: node(number) for number in (1, 2, 3, 4)})
        known: Any = self.nodes.at(4, "group")
        self.assertEqual(known.address, ("broker4", 9092))

    def test_close(self) -> None:
        """A close closes all connections."""
        self.nodes.at(1), self.nodes.at(2, "group")
        self.successResultOf(self.nodes.close())
        self.assertEqual([one.closed for one in self.made], ["closed", "closed"])
