"""Ports that several processes share."""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from kafkatx.errors import SettingError
from kafkatx.net.shared_port import listen_shared, reserve_port

reactor: Any = installed


class Greeting(Protocol):
    """Says a name, and hangs up."""

    def connectionMade(self) -> None:
        """Say it."""
        assert self.transport is not None
        self.transport.write(self.factory.name)
        self.transport.loseConnection()


class Heard(Protocol):
    """Keeps what it hears until the connection ends."""

    def __init__(self) -> None:
        self.text = b""
        self.done: Deferred[bytes] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        """Keep it."""
        self.text += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell it."""
        self.done.callback(self.text)


class SharedPortTests(TestCase):
    timeout = 30

    def listen(self, name: bytes, port: int) -> Any:
        """Listen, and greet with a name."""
        factory = Factory.forProtocol(Greeting)
        factory.name = name  # type: ignore[attr-defined]
        listening = listen_shared(reactor, "localhost", port, factory)
        self.addCleanup(listening.stopListening)
        return listening

    async def greeting(self, port: int) -> bytes:
        """Connect, and return what was said."""
        endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", port)
        heard = await endpoint.connect(Factory.forProtocol(Heard))
        assert isinstance(heard, Heard)
        return await heard.done

    async def test_shared(self) -> None:
        """Connections go to both listeners; those of a closed one go to the other."""
        reserved = reserve_port("localhost", 0)
        self.addCleanup(reserved.close)
        port = reserved.getsockname()[1]
        first = self.listen(b"first", port)
        self.listen(b"second", port)
        found = {await self.greeting(port) for _ in range(100)}
        self.assertEqual(found, {b"first", b"second"})
        await first.stopListening()
        self.assertEqual({await self.greeting(port) for _ in range(20)}, {b"second"})

    def test_reserved(self) -> None:
        """A reserved port cannot be taken by another program."""
        reserved = reserve_port("", 0)
        self.addCleanup(reserved.close)
        with socket.socket() as other:
            self.assertRaises(OSError, other.bind, ("127.0.0.1", reserved.getsockname()[1]))

    def test_taken(self) -> None:
        """A port that another program uses is named."""
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            error = self.assertRaises(SettingError, reserve_port, "127.0.0.1", port)
        self.assertIn(f"port {port} of 127.0.0.1: cannot listen there", str(error))
