"""The factory of connections: how many there may be, and their end."""

from __future__ import annotations

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from tests.web.test_channel import ServerCase


class ServerTests(ServerCase):
    def test_connections(self) -> None:
        """Connections above the limit are closed if all of an address are busy; one that ends makes room."""
        for protocol in (self.protocol, self.connect()[0]):
            protocol.dataReceived(b"GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIsNone(self.factory.buildProtocol(self.transport.getPeer()))
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.connect()

    def test_idle_ones_give_way(self) -> None:
        """The connection that is idle longest gives way to a new one."""
        _, second_transport = self.connect()
        self.clock.advance(1)
        self.protocol.dataReceived(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
        third, third_transport = self.connect()
        self.assertEqual((self.transport.aborted, second_transport.aborted), (False, True))
        third.dataReceived(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(b"200 OK", third_transport.value())

    def test_busy_ones_of_an_address_with_most(self) -> None:
        """An address with few connections takes a place of one with more, though all of those are busy."""
        for protocol in (self.protocol, self.connect()[0]):
            protocol.dataReceived(b"GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIsNotNone(self.factory.buildProtocol(IPv4Address("TCP", "192.0.2.77", 1)))
        self.assertTrue(self.transport.aborted)

    def test_close_all(self) -> None:
        """All connections are closed at the end."""
        self.factory.close_all()
        self.assertTrue(self.transport.aborted)
