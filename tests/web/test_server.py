"""The factory of connections: how many there may be, and their end."""

from __future__ import annotations

from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from tests.web.test_channel import ServerCase


class ServerTests(ServerCase):
    def test_connections(self) -> None:
        """Connections above the limit are closed; one that ends makes room."""
        self.connect()
        self.assertIsNone(self.factory.buildProtocol(None))
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.connect()

    def test_close_all(self) -> None:
        """All connections are closed at the end."""
        self.factory.close_all()
        self.assertTrue(self.transport.aborted)
