"""Connections in memory between brokers of one process: real protocols on both ends, and a clock."""

from __future__ import annotations

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone, ConnectionLost, ConnectionRefusedError
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.networkclient.connection import MakeEndpoint

Address = tuple[str, int]

FIRST_CLIENT_PORT = 40_000


class MemoryNetwork:
    """Listening brokers by address, and the connections between them.

    Bytes arrive in order, with the next step of the clock.

    :ivar links: the open connections.
    :ivar cut: pairs (from, to) of brokers between which nothing arrives any more, nor can be connected.
    :ivar breaks: the number of bytes from one broker to another after which a connection breaks, once.
    :ivar broken: how many have broken so.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self.clock = clock
        self.links: list[Link] = []
        self.cut: set[tuple[int, int]] = set()
        self.breaks: dict[tuple[int, int], int] = {}
        self.broken = 0
        self._listening: dict[Address, tuple[int, Any]] = {}
        self._next_port = FIRST_CLIENT_PORT

    def listen(self, broker_id: int, address: Address, factory: Any) -> None:
        """Accept connections to a broker."""
        self._listening[address] = (broker_id, factory)

    def close(self, broker_id: int) -> None:
        """Break all connections of a broker and accept no more, as the end of its process does."""
        self._listening = {at: one for at, one in self._listening.items() if one[0] != broker_id}
        for link in [link for link in self.links if broker_id in link.brokers]:
            link.lose(Failure(ConnectionLost()))

    def endpoints_of(self, broker_id: int) -> MakeEndpoint:
        """Return what makes the endpoints by which a broker connects to others."""

        def make_endpoint(reactor: Any, host: str, port: int) -> MemoryEndpoint:
            return MemoryEndpoint(self, broker_id, (host, port))

        return make_endpoint

    def connect(self, broker_id: int, address: Address, client_factory: Any) -> Deferred[Any]:
        """Connect a broker to an address; what it does not reach refuses."""
        server_id, server_factory = self._listening.get(address, (-1, None))
        if server_factory is None or (broker_id, server_id) in self.cut:
            return fail(ConnectionRefusedError())
        self._next_port += 1
        here = IPv4Address("TCP", "127.0.0.1", self._next_port)
        there = IPv4Address("TCP", "127.0.0.1", address[1])
        link = Link(self, (broker_id, server_id))
        link.ends[0].at, link.ends[1].at = (here, there), (there, here)
        client, server = client_factory.buildProtocol(there), server_factory.buildProtocol(here)
        link.ends[0].protocol, link.ends[1].protocol = client, server
        self.links.append(link)
        server.makeConnection(link.ends[1])
        client.makeConnection(link.ends[0])
        return succeed(client)


@implementer(IStreamClientEndpoint)
class MemoryEndpoint:
    """An address as one broker reaches it."""

    def __init__(self, network: MemoryNetwork, broker_id: int, address: Address) -> None:
        self._network, self._broker_id, self._address = network, broker_id, address

    def connect(self, protocolFactory: Any) -> Deferred[Any]:
        """Connect."""
        return self._network.connect(self._broker_id, self._address, protocolFactory)


class Link:
    """One connection: the end of the broker that connected, and the end of the one that accepted."""

    def __init__(self, network: MemoryNetwork, brokers: tuple[int, int]) -> None:
        self.network = network
        self.brokers = brokers
        self.ends = (End(self, 0), End(self, 1))

    def lose(self, reason: Failure) -> None:
        """End the connection on both sides."""
        if self in self.network.links:
            self.network.links.remove(self)
            for end in self.ends:
                end.lost(reason)


class End:
    """The transport of one end."""

    disconnecting = False
    at: tuple[IPv4Address, IPv4Address]
    protocol: Any

    def __init__(self, link: Link, number: int) -> None:
        self._link = link
        self._number = number
        self._unsent: list[bytes] = []
        self._producer: Any = None
        self._paused = False
        self._scheduled = False

    def getHost(self) -> IPv4Address:
        """Return the address of this end."""
        return self.at[0]

    def getPeer(self) -> IPv4Address:
        """Return the address of the other end."""
        return self.at[1]

    def write(self, data: bytes) -> None:
        """Send bytes with the next step of the clock."""
        self._unsent.append(bytes(data))
        self._send_soon()

    def writeSequence(self, chunks: list[Any]) -> None:
        """Send several pieces."""
        for chunk in chunks:
            self.write(chunk if isinstance(chunk, bytes) else bytes(chunk))

    def _send_soon(self) -> None:
        if not self._scheduled and self._unsent:
            self._scheduled = True
            self._link.network.clock.callLater(0, self._send)

    def _send(self) -> None:
        self._scheduled = False
        brokers = self._link.brokers if self._number == 0 else self._link.brokers[::-1]
        other = self._link.ends[1 - self._number]
        if self._link not in self._link.network.links or other._paused or brokers in self._link.network.cut:
            return
        data, self._unsent = b"".join(self._unsent), []
        network, pair = self._link.network, (brokers[0], brokers[1])
        left = network.breaks.get(pair)
        if left is not None:
            network.breaks[pair] = left - len(data)
            data = data[:left]
        if data:
            other.protocol.dataReceived(data)
        if network.breaks.get(pair, 0) < 0:
            del network.breaks[pair]
            network.broken += 1
            self._link.lose(Failure(ConnectionLost()))
        if self.disconnecting:
            self._link.lose(Failure(ConnectionDone()))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Take all that a producer has: there is always room."""
        self._producer = producer
        while not streaming and self._producer is producer:
            producer.resumeProducing()

    def unregisterProducer(self) -> None:
        """Forget the producer."""
        self._producer = None

    def pauseProducing(self) -> None:
        """Receive nothing for now."""
        self._paused = True

    def resumeProducing(self) -> None:
        """Receive what has waited."""
        self._paused = False
        self._link.ends[1 - self._number]._send_soon()

    def loseConnection(self) -> None:
        """Close after what was written has arrived."""
        self.disconnecting = True
        if not self._scheduled:
            self._scheduled = True
            self._link.network.clock.callLater(0, self._send)

    def abortConnection(self) -> None:
        """Close at once."""
        self._link.network.clock.callLater(0, self._link.lose, Failure(ConnectionLost()))

    def lost(self, reason: Failure) -> None:
        """Tell the protocol that the connection has ended."""
        self.protocol.connectionLost(reason)
