"""The network of a broker that a test cuts."""

from __future__ import annotations

from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing.faults.network import CuttableReactor


class CuttableReactorTests(SynchronousTestCase):
    def test_cut(self) -> None:
        """While it is cut an attempt to connect is refused; before and after, the reactor makes it."""
        real = MemoryReactorClock()
        reactor = CuttableReactor(real)
        endpoint = reactor.make_endpoint(real, "127.0.0.1", 1)
        endpoint.connect(Factory.forProtocol(Protocol)).addErrback(lambda _: None)
        self.assertEqual(len(real.tcpClients), 1)
        reactor.is_cut = True
        refused = endpoint.connect(Factory.forProtocol(Protocol))
        real.advance(0)
        self.failureResultOf(refused, Refused)
        reactor.heal()
        endpoint.connect(Factory.forProtocol(Protocol)).addErrback(lambda _: None)
        self.assertEqual(len(real.tcpClients), 2)

    def test_rest(self) -> None:
        """All else is the broker's reactor's."""
        real = MemoryReactorClock()
        self.assertEqual(CuttableReactor(real).seconds(), real.seconds())
