"""Sending over real connections: plain sockets by sendfile, and TLS, which must never be bypassed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet import ssl, tcp
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import ClientFactory, Factory, Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from kafkatx.net.sender import COPIED_BYTES, TURN_BYTES, Chunk, PlainSender, SocketSender, make_sender
from kafkatx.types import FileSlice, SharedFile
from tests.integration.certificates import self_signed

reactor: Any = installed_reactor
MANY_BYTES = 20 << 20


class End(Protocol):
    """One end of a connection: keeps what comes, and why it ended."""

    transport: Any

    def __init__(self) -> None:
        self.received = bytearray()
        self.lost: Failure | None = None

    def dataReceived(self, data: bytes) -> None:
        """Keep it."""
        self.received += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Keep it."""
        self.lost = reason


class Sending(End):
    """The server's end: makes a sender when it is connected."""

    sender: PlainSender
    drained = 0

    def connectionMade(self) -> None:
        """Make the sender that suits."""
        self.sender = make_sender(self.transport, self.on_drained)

    def on_drained(self) -> None:
        """Count."""
        self.drained += 1


async def until(condition: Callable[[], object]) -> None:
    """Run the reactor until *condition* is true; the test's timeout ends an endless wait."""
    while not condition():
        await deferLater(reactor, 0.002)


class LoopbackTestCase(TestCase):
    timeout = 30

    async def connect(self) -> tuple[Sending, End]:
        """Both ends of a new connection."""
        server, client = Sending(), End()
        port = self.listen(Factory.forProtocol(lambda: server))
        self.addCleanup(port.stopListening)
        dialling = ClientFactory()
        dialling.noisy = False
        dialling.buildProtocol = lambda addr: client  # type: ignore[method-assign]
        self.addCleanup(self.close, server, client)
        self.dial(port.getHost().port, dialling)
        await until(lambda: server.connected and client.connected)
        return server, client

    def listen(self, factory: Factory) -> Any:
        """A listening port."""
        return reactor.listenTCP(0, factory, interface="127.0.0.1")

    def dial(self, port: int, factory: ClientFactory) -> None:
        """Connect a client."""
        reactor.connectTCP("127.0.0.1", port, factory)

    async def close(self, server: Sending, client: End) -> None:
        """End both sides and wait until they have."""
        for end in (server, client):
            if end.connected and end.lost is None:
                end.transport.abortConnection()
        await until(lambda: server.lost and client.lost)

    def make_file(self, content: bytes) -> SharedFile:
        """A file with this content."""
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(content)
        return SharedFile(path, os.O_RDONLY)

    async def received(self, client: End, size: int) -> bytes:
        """Receive *size* bytes and return them."""
        await until(lambda: len(client.received) >= size)
        return bytes(client.received)

    async def send_of_all_kinds(self) -> Sending:
        """Send a file between chunks of memory, more than the socket's buffers take; all must arrive."""
        server, client = await self.connect()
        content = os.urandom(MANY_BYTES)
        file = self.make_file(content)
        chunks: list[Chunk] = [b"head", FileSlice(file, 0, MANY_BYTES), memoryview(b"between")]
        chunks += [FileSlice(file, 100, 50), b"m" * (1 << 20), b"end"]
        server.sender.send(chunks)
        server.sender.send([b"next reply"])
        expected = (
            b"head" + content + b"between" + content[100:150] + b"m" * (1 << 20) + b"end" + b"next reply"
        )
        self.assertTrue(server.sender.busy)
        self.assertEqual(await self.received(client, len(expected)), expected)
        self.assertEqual((server.sender.busy, server.drained), (False, 1))
        return server


class SocketSenderTests(LoopbackTestCase):
    async def test_plain_socket(self) -> None:
        """On a TCP connection files go by sendfile, in their place among what comes from memory."""
        server = await self.send_of_all_kinds()
        self.assertIsInstance(server.sender, SocketSender)

    async def test_small_reply_leaves_at_once(self) -> None:
        """Bytes that the socket accepts are sent before send() returns, without the transport's buffer."""
        server, client = await self.connect()
        server.sender.send([b"reply"])
        self.assertFalse(server.sender.busy)
        self.assertEqual(server.transport.dataBuffer, b"")
        self.assertEqual(await self.received(client, 5), b"reply")

    async def test_others_get_their_turn(self) -> None:
        """A long slice is sent in parts, although the socket accepts more: others are waiting."""
        server, client = await self.connect()
        sizes: list[int] = []

        def sendfile(out: int, file: int, position: int, count: int) -> int:
            sizes.append(count)
            return real(out, file, position, count)

        real = os.sendfile
        self.patch(os, "sendfile", sendfile)
        content = os.urandom(4 * TURN_BYTES)
        server.sender.send([FileSlice(self.make_file(content), 0, len(content))])
        self.assertLessEqual(len(sizes), 2)
        self.assertEqual(await self.received(client, len(content)), content)
        self.assertLessEqual(max(sizes), TURN_BYTES)

    async def test_slow_reader(self) -> None:
        """While the peer does not read, the sender is busy and holds no copy; then all arrives."""
        server, client = await self.connect()
        client.transport.pauseProducing()
        content = os.urandom(MANY_BYTES)
        server.sender.send([FileSlice(self.make_file(content), 0, MANY_BYTES)])
        await deferLater(reactor, 0.05)
        self.assertEqual((server.sender.busy, server.drained), (True, 0))
        self.assertTrue(all(isinstance(chunk, FileSlice) for chunk in server.sender._queue))
        client.transport.resumeProducing()
        self.assertEqual(await self.received(client, MANY_BYTES), content)

    async def test_close_after_sending(self) -> None:
        """loseConnection() while the peer is slow closes when all has been sent."""
        server, client = await self.connect()
        content = os.urandom(MANY_BYTES)
        server.sender.send([FileSlice(self.make_file(content), 0, MANY_BYTES)])
        server.transport.loseConnection()
        await until(lambda: client.lost)
        assert client.lost is not None
        self.assertTrue(client.lost.check(ConnectionDone))
        self.assertEqual(bytes(client.received), content)

    async def test_file_shorter_than_its_slice(self) -> None:
        """A file that ends early breaks the connection off; nothing is sent in place of its bytes."""
        for size in (10, 2 * COPIED_BYTES):
            await self.send_too_much(os.urandom(size))

    async def send_too_much(self, content: bytes) -> None:
        """Send from the sixth byte on one byte more than a file has."""
        server, client = await self.connect()
        with capturedLogs() as events:
            piece = FileSlice(self.make_file(content), 5, len(content) - 4)
            server.sender.send([b"head", piece, b"never"])
            await until(lambda: client.lost)
            self.assertTrue(server.sender.busy)
            server.sender.send([b"next reply"])
        self.assertTrue((b"head" + content[5:]).startswith(client.received))
        self.assertTrue(any("ends 1 bytes" in str(event.get("error")) for event in events))

    async def test_peer_that_has_gone(self) -> None:
        """Sending to a peer that reset the connection raises nothing."""
        server, client = await self.connect()
        client.transport.abortConnection()
        await until(lambda: client.lost)
        for _ in range(3):
            server.sender.send([b"x" * 100_000])
        self.assertTrue(server.sender.busy or not server.sender._queue)


class WarmSlicesTests(LoopbackTestCase):
    async def test_short_slices_leave_with_what_is_beside_them(self) -> None:
        """Slices that are short and in memory go out in one call with the rest; long ones by sendfile."""
        server, client = await self.connect()
        content = os.urandom(COPIED_BYTES + 1)
        file = self.make_file(content)
        sent: list[int] = []
        assert isinstance(server.sender, SocketSender)
        real = server.sender._socket

        class Counting:
            def send(self, data: bytes, flags: int) -> int:
                sent.append(len(data))
                return int(real.send(data, flags))

            def fileno(self) -> int:
                sent.append(-1)
                return int(real.fileno())

        self.patch(server.sender, "_socket", Counting())
        short: list[Chunk] = [
            FileSlice(file, 7, 5, 5),
            b"between",
            FileSlice(file, 1, COPIED_BYTES, COPIED_BYTES),
        ]
        server.sender.send([b"head", *short, b"end"])
        expected = b"head" + content[7:12] + b"between" + content[1:] + b"end"
        self.assertEqual(sent, [len(expected)])
        server.sender.send([b"head", FileSlice(file, 0, COPIED_BYTES + 1, COPIED_BYTES + 1), b"end"])
        self.assertEqual(sent[1:], [4, -1, 3])
        expected += b"head" + content + b"end"
        self.assertEqual(await self.received(client, len(expected)), expected)


class TLSSenderTests(LoopbackTestCase):
    def setUp(self) -> None:
        """Make a certificate."""
        self.certificate = self_signed()

    def listen(self, factory: Factory) -> Any:
        """A listening port that speaks TLS."""
        return reactor.listenSSL(0, factory, self.certificate.options(), interface="127.0.0.1")

    def dial(self, port: int, factory: ClientFactory) -> None:
        """Connect by TLS."""
        reactor.connectSSL("127.0.0.1", port, factory, ssl.CertificateOptions())

    async def test_tls_is_not_bypassed(self) -> None:
        """Over TLS everything passes through the TLS transport, and arrives intact."""
        server = await self.send_of_all_kinds()
        self.assertIs(type(server.sender), PlainSender)

    async def test_file_shorter_than_its_slice(self) -> None:
        """Over TLS too a file that ends early breaks the connection off."""
        server, client = await self.connect()
        server.sender.send([b"head", FileSlice(self.make_file(b"0123456789"), 5, 6), b"never"])
        await until(lambda: client.lost)
        self.assertNotIn(b"never", client.received)

    async def test_start_tls(self) -> None:
        """A plain connection that was turned into TLS is no longer taken for a plain one."""

        class Plain(tcp.Connection):
            def __init__(self) -> None:
                """Not connected to anything."""

        transport = Plain()
        transport.TLS = True
        self.assertIs(type(make_sender(transport, lambda: None)), PlainSender)
