"""A ZooKeeper server for tests, from the jars inside pyspark, and a proxy that loses its connections."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from kazoo.client import KazooClient
from twisted.internet import reactor
from twisted.internet.address import IPv4Address
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.interfaces import IAddress, IListeningPort, ITCPTransport
from twisted.internet.protocol import Factory, Protocol

from kafkatx.testing import zookeeper as testing
from kafkatx.testing.zookeeper import START_S
from tests.ports import free_port


class ZooKeeperServer(testing.ZooKeeperServer):
    """A server in a temporary folder, which serves when it is made.

    :param tick_ms: its unit of time; sessions last from 2 to 20 of it.
    """

    def __init__(
        self, tick_ms: int = 500, settings: Mapping[str, str] = MappingProxyType({}), java: Sequence[str] = ()
    ) -> None:
        self.scratch = tempfile.mkdtemp(prefix="kafkatx-zookeeper-")
        super().__init__(Path(self.scratch), free_port(), tick_ms=tick_ms, settings=settings, java=java)
        try:
            self.start()
            self.wait()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kill the process and remove its folder."""
        self.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)


@lru_cache(maxsize=1)
def shared_server() -> ZooKeeperServer:
    """Return the server of this process, started by the first call and killed when the tests end."""
    server = ZooKeeperServer()
    atexit.register(server.stop)
    return server


def end_session(port: int, identity: tuple[int, bytes] | None) -> None:
    """End a session by another connection. It blocks.

    :param identity: id and password of the session.
    """
    other = KazooClient(f"127.0.0.1:{port}", client_id=identity)
    other.start(START_S)
    other.stop()
    other.close()


class _Client(Protocol):
    """A client's connection to the proxy."""

    transport: ITCPTransport

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.server: _Server | None = None
        self.early = b""
        self.gone = False

    def connectionMade(self) -> None:
        """Connect to the server."""
        if self.proxy.refusing:
            self.gone = True
            self.transport.abortConnection()
            return
        self.proxy.clients.add(self)
        endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", self.proxy.server_port)
        connectProtocol(endpoint, _Server(self)).addCallbacks(self.reached, self.failed)

    def reached(self, server: _Server) -> None:
        """Send what has come meanwhile."""
        if self.gone:
            server.transport.abortConnection()
        else:
            self.server = server
            server.transport.write(self.early)

    def failed(self, failure: object) -> None:
        """Close the connection of a server that cannot be reached."""
        self.transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:
        """Forward requests unless they are held."""
        if self.proxy.hold_requests:
            return
        if self.server is None:
            self.early += data
        else:
            self.server.transport.write(data)

    def connectionLost(self, reason: object = None) -> None:
        """Close the connection to the server."""
        self.gone = True
        self.proxy.clients.discard(self)
        if self.server is not None:
            self.server.transport.abortConnection()


class _Server(Protocol):
    """The proxy's connection to the server, for one client."""

    transport: ITCPTransport

    def __init__(self, client: _Client) -> None:
        self.client = client

    def dataReceived(self, data: bytes) -> None:
        """Forward replies unless they are held."""
        if not self.client.proxy.hold_replies:
            self.client.transport.write(data)

    def connectionLost(self, reason: object = None) -> None:
        """Close the client's connection."""
        self.client.transport.loseConnection()


class Proxy(Factory):
    """A TCP proxy in front of a server. What is held is lost.

    :ivar refusing: True to close new connections at once.
    """

    noisy = False

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.clients: set[_Client] = set()
        self.hold_requests = self.hold_replies = self.refusing = False
        listen = cast(Callable[..., IListeningPort], reactor.listenTCP)
        self.listening = listen(0, self, interface="127.0.0.1")

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        return cast(IPv4Address, self.listening.getHost()).port

    def buildProtocol(self, address: IAddress | None) -> Protocol:
        """Return the protocol of a client's connection."""
        return _Client(self)

    def cut(self) -> None:
        """Close all connections, and refuse others until :meth:`heal`."""
        self.refusing = True
        for client in list(self.clients):
            client.transport.abortConnection()
        self.hold_requests = self.hold_replies = False

    def heal(self) -> None:
        """Accept connections again."""
        self.refusing = False
