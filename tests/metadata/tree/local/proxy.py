"""A proxy between a client and the server's socket, which holds messages back and cuts connections."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.interfaces import IAddress, IListeningPort
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure


class Proxy(Factory):
    """Carries the connections of one client.

    :ivar path: its socket.
    """

    noisy = False

    def __init__(self, reactor: Any, path: str, server_path: str) -> None:
        self.path = path
        self.reactor = reactor
        self.server_path = server_path
        self.up = True
        self.hold_requests = False
        self.hold_replies = False
        self.pairs: set[_ClientSide] = set()
        self.port: IListeningPort = reactor.listenUNIX(path, self)

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:
        """Carry a connection, unless the proxy is cut."""
        return _ClientSide(self) if self.up else None

    def cut(self) -> None:
        """End all connections, and accept no other; forget what is held."""
        self.up = self.hold_requests = self.hold_replies = False
        for pair in list(self.pairs):
            pair.cut()

    def heal(self) -> None:
        """Accept connections."""
        self.up = True

    def release(self) -> None:
        """Pass everything on that was held."""
        self.hold_requests = self.hold_replies = False
        for pair in self.pairs:
            pair.pass_on()

    def stop(self) -> Deferred[None]:
        """Close everything."""
        self.cut()
        stopped = self.port.stopListening()
        assert isinstance(stopped, Deferred)
        return stopped


class _ClientSide(Protocol):
    """The connection of the client."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.server_side: _ServerSide | None = None
        self.requests = b""
        self.replies = b""
        self.over = False

    def connectionMade(self) -> None:
        """Connect to the server."""
        self.proxy.pairs.add(self)
        endpoint = UNIXClientEndpoint(self.proxy.reactor, self.proxy.server_path)
        connecting: Deferred[Protocol] = endpoint.connect(Factory.forProtocol(lambda: _ServerSide(self)))
        connecting.addErrback(lambda _: self.cut())

    def dataReceived(self, data: bytes) -> None:
        """Take bytes for the server."""
        self.requests += data
        self.pass_on()

    def pass_on(self) -> None:
        """Send what is not held."""
        if self.over or self.server_side is None:
            return
        if not self.proxy.hold_requests:
            data, self.requests = self.requests, b""
            self.server_side.transport.write(data)  # type: ignore[union-attr]
        if not self.proxy.hold_replies:
            data, self.replies = self.replies, b""
            self.transport.write(data)  # type: ignore[union-attr]

    def cut(self) -> None:
        """End both connections."""
        if not self.over:
            self.over = True
            self.proxy.pairs.discard(self)
            self.transport.abortConnection()  # type: ignore[union-attr]
            if self.server_side is not None:
                self.server_side.transport.abortConnection()  # type: ignore[union-attr]

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the other connection."""
        if not self.over:
            self.over = True
            self.proxy.pairs.discard(self)
            if self.server_side is not None:
                self.server_side.transport.loseConnection()  # type: ignore[union-attr]


class _ServerSide(Protocol):
    """The connection to the server."""

    def __init__(self, client_side: _ClientSide) -> None:
        self.client_side = client_side

    def connectionMade(self) -> None:
        """Pass on what came meanwhile."""
        if self.client_side.over:
            self.transport.abortConnection()  # type: ignore[union-attr]
            return
        self.client_side.server_side = self
        self.client_side.pass_on()

    def dataReceived(self, data: bytes) -> None:
        """Take bytes for the client."""
        self.client_side.replies += data
        self.client_side.pass_on()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the client's connection after what was sent."""
        side = self.client_side
        if not side.over:
            side.over = True
            side.proxy.pairs.discard(side)
            side.transport.loseConnection()  # type: ignore[union-attr]
