"""Fakes for both ends of a server connection: a transport without a socket, and a scripted dispatch."""

from __future__ import annotations

import struct
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.connection import KafkaConnection
from kafkatx.net.requests import Answer, Peer, Reply, Staged
from kafkatx.net.sender import Chunk
from kafkatx.net.server import KafkaServerFactory, Limits

PRODUCE = b"\0\0"
FETCH = b"\0\x01"
COMMIT = b"\0\x08"


class PullTransport(StringTransport):
    """A transport that drives a pull producer as a socket does, for as long as there is room.

    :ivar room: True if the peer reads; set it by :meth:`block` and :meth:`drain`.
    """

    producer: Any
    bufferSize = 65_536  # of a socket

    def __init__(self, host: str = "192.0.2.1", port: int = 5000) -> None:
        super().__init__(peerAddress=IPv4Address("TCP", host, port))
        self.room = True

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Register a producer and let it produce at once, as a socket does."""
        super().registerProducer(producer, streaming)
        self._pull()

    def _pull(self) -> None:
        first = self.producer
        while self.room and first is not None and self.producer is first:
            first.resumeProducing()

    def block(self) -> None:
        """Stop reading, as a slow peer does."""
        self.room = False

    def drain(self) -> None:
        """Resume reading, as the peer does."""
        self.room = True
        self._pull()

    def replies(self) -> list[bytes]:
        """Return the bodies of the frames written so far; fail the test if the bytes are not whole frames."""
        data, at, bodies = self.value(), 0, []
        while at < len(data):
            (size,) = struct.unpack_from(">i", data, at)
            bodies.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        return bodies


class ScriptedStaged(Staged):
    """The staged answer to a scripted produce request or commit."""

    def __init__(self, name: bytes, outcome: Any) -> None:
        self.name = name
        self.outcome = outcome
        self.alone = name.startswith(b"alone")

    def finish(self, failed: dict[object, OSError]) -> Any:
        """Return the reply, or do what the script says."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        if self.name in failed:
            return framed(b"failed " + self.name)
        return framed(self.name) if self.outcome is ... else self.outcome


class ScriptedRequests:
    """A dispatch that echoes every request, except as *script* says; *events* records its calls.

    An exception in *script* is raised; any other value is the answer. Produce requests are staged, and so are
    commits that *script* does not name. An exception in *finishing* is raised when the staged request is
    answered.
    """

    ordered: tuple[bytes, ...] = (PRODUCE, COMMIT)

    def __init__(self) -> None:
        self.script: dict[bytes, Any] = {}
        self.finishing: dict[bytes, Exception] = {}
        self.events: list[Any] = []
        self.failing: dict[object, OSError] = {}
        self.staged: list[bytes] = []
        self.on_wake: list[Any] = []

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer as the script says."""
        name = bytes(frame[2:])
        self.events.append(name)
        outcome = self.script.get(name, ...)
        if isinstance(outcome, Exception):
            raise outcome
        api = bytes(frame[:2])
        if api == PRODUCE or (api == COMMIT and outcome is ...):
            self.staged.append(name)
            return ScriptedStaged(name, self.finishing.get(name, outcome))
        answered: Reply = framed(name) if outcome is ... else outcome
        return answered

    def write_staged(self) -> dict[object, OSError]:
        """Record the requests that are written."""
        written, self.staged = self.staged, []
        self.events.append(("write", written))
        return self.failing

    def wake_waiting(self) -> None:
        """Record the call, then run the callback of the test."""
        self.events.append("wake")
        waiting, self.on_wake = self.on_wake, []
        for call in waiting:
            call()


def framed(body: bytes) -> list[Chunk]:
    """Return a reply with this body."""
    return [struct.pack(">i", len(body)), body]


def request(api: bytes, name: bytes) -> bytes:
    """Return the bytes of a request that has only an API key and a name."""
    return struct.pack(">i", 2 + len(name)) + api + name


def produce(*names: bytes) -> bytes:
    """Return produce requests with these names."""
    return b"".join(request(PRODUCE, name) for name in names)


def commit(*names: bytes) -> bytes:
    """Return offset commits with these names."""
    return b"".join(request(COMMIT, name) for name in names)


def fetch(*names: bytes) -> bytes:
    """Return fetch requests with these names."""
    return b"".join(request(FETCH, name) for name in names)


class ConnectionTestCase(SynchronousTestCase):
    """A test case with a factory, a scripted dispatch and a clock; :meth:`connect` makes connections."""

    def setUp(self) -> None:
        """Make a factory with wide limits."""
        self.requests = ScriptedRequests()
        self.clock = Clock()
        self.factory = self.make_factory()

    def make_factory(self, **limits: Any) -> KafkaServerFactory:
        """Return a factory with wide limits, except for those given."""
        wide = {
            "max_request_bytes": 100 << 20,
            "max_queued_bytes": -1,
            "max_idle_ms": -1,
        }
        return KafkaServerFactory(self.requests, Limits(**{**wide, **limits}), self.clock)

    def connect(
        self, factory: KafkaServerFactory | None = None, host: str = "192.0.2.1", port: int = 5000
    ) -> tuple[KafkaConnection, PullTransport]:
        """Return a new connection and its transport."""
        transport = PullTransport(host, port)
        connection = (factory or self.factory).buildProtocol(transport.getPeer())
        assert isinstance(connection, KafkaConnection)
        connection.makeConnection(transport)
        return connection, transport

    def lose(self, connection: KafkaConnection) -> None:
        """Close the connection from the peer's side."""
        connection.connectionLost(Failure(ConnectionDone()))

    def settle(self) -> None:
        """Run the calls that were deferred to the reactor's next turn."""
        for _ in range(3):
            self.clock.advance(0)
