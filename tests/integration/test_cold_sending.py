"""Sending what is not in the page cache over real connections: all that is true of sending stays so."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.testing import StringTransport

from kafkatx.net import sender
from kafkatx.net.sender import WINDOW_BYTES, make_sender
from kafkatx.types import FileSlice
from tests.integration import test_sending as sending

reactor: Any = installed_reactor


class ColdDisk:
    """A page cache that has nothing: what is loaded is there a turn of the reactor later.

    :ivar loads: how often something had to be loaded.
    :ivar hold: keep what is asked for waiting.
    """

    def __init__(self) -> None:
        self.loads = 0
        self.cancelled = 0
        self.hold = False
        self.waiting: list[Deferred[None]] = []
        self._loaded: set[tuple[str, int]] = set()

    def has(self, path: str, position: int, size: int) -> bool:
        """Return True if a part of a file was loaded."""
        return self._loaded.issuperset(_blocks(path, position, size))

    def load(self, piece: FileSlice) -> Deferred[None] | None:
        """Implement kafkatx.net.sender.Load."""
        size = min(piece.size, WINDOW_BYTES)
        if self.has(piece.file.path, piece.position, size):
            return None
        self.loads += 1
        blocks = _blocks(piece.file.path, piece.position, size)
        if self.hold:
            done: Deferred[None] = Deferred(lambda _: self._cancel())
        else:
            done = deferLater(reactor, 0)
        self.waiting.append(done)
        return done.addCallback(lambda _: self._loaded.update(blocks))

    def _cancel(self) -> None:
        self.cancelled += 1


def _blocks(path: str, position: int, size: int) -> set[tuple[str, int]]:
    return {(path, number) for number in range(position // 4096, (position + size - 1) // 4096 + 1)}


class ColdCase(sending.LoopbackTestCase):
    """Every sender that a test makes finds nothing in memory."""

    def setUp(self) -> None:
        """Create the files."""
        super().setUp()
        self.disk = ColdDisk()
        self.early: list[int] = []
        self.patch(sending, "make_sender", lambda transport, drained: self.make(transport, drained))
        real_sendfile, real_tobytes = os.sendfile, FileSlice.tobytes

        def sendfile(out: int, fd: int, position: int, size: int) -> int:
            self.check(os.readlink(f"/proc/self/fd/{fd}"), position, size)
            return real_sendfile(out, fd, position, size)

        def tobytes(piece: FileSlice) -> bytes:
            self.check(os.path.abspath(piece.file.path), piece.position, piece.size)
            return real_tobytes(piece)

        self.patch(os, "sendfile", sendfile)
        self.patch(FileSlice, "tobytes", tobytes)

    def make(self, transport: Any, drained: Any) -> Any:
        """A sender that has to load all files."""

        def load(piece: FileSlice) -> Deferred[None] | None:
            return self.disk.load(FileSlice(_Named(piece.file), piece.position, piece.size))  # type: ignore[arg-type]

        return make_sender(transport, drained, load)

    def check(self, path: str, position: int, size: int) -> None:
        """Note what is read before it was loaded."""
        if not self.disk.has(path, position, size):
            self.early.append(position)

    def tearDown(self) -> None:
        """Nothing was."""
        self.assertEqual(self.early, [])

    async def begin(self) -> tuple[Any, Any]:
        """Send a file whose loading takes as long as the test wants."""
        server, client = await self.connect()
        self.disk.hold = True
        server.sender.send([FileSlice(self.make_file(b"content"), 0, 7), b"end"])
        await sending.until(lambda: self.disk.waiting)
        self.assertEqual((server.sender.busy, len(self.disk.waiting)), (True, 1))
        return server, client


class _Named:
    """A file under its whole path."""

    def __init__(self, file: Any) -> None:
        self.path = os.path.abspath(file.path)


class ColdSocketTests(ColdCase, sending.SocketSenderTests):
    async def test_loads(self) -> None:
        """A large file is loaded a window at a time, each before it is sent."""
        await self.send_of_all_kinds()
        self.assertGreaterEqual(self.disk.loads, sending.MANY_BYTES // WINDOW_BYTES)

    async def test_what_was_seen_in_memory(self) -> None:
        """A slice that was just seen in memory is not probed again; the rest is, one window at a time."""
        server, client = await self.connect()
        self.patch(self, "check", lambda *_: None)
        file = self.make_file(os.urandom(3 * WINDOW_BYTES))
        server.sender.send([FileSlice(file, 0, WINDOW_BYTES, WINDOW_BYTES), b"end"])
        await self.received(client, WINDOW_BYTES + 3)
        self.assertEqual(self.disk.loads, 0)
        server.sender.send([FileSlice(file, 0, 3 * WINDOW_BYTES, WINDOW_BYTES)])
        await self.received(client, 4 * WINDOW_BYTES + 3)
        self.assertGreaterEqual(self.disk.loads, 2)

    async def test_slow_reader_is_asked_for_again(self) -> None:
        """After a long wait for the peer, what was seen in memory before it counts no more."""
        server, client = await self.connect()
        now_s = [100.0]
        self.patch(sender, "monotonic", lambda: now_s[0])
        self.patch(self, "check", lambda *_: None)
        client.transport.pauseProducing()
        file = self.make_file(os.urandom(sending.MANY_BYTES))
        server.sender.send([FileSlice(file, 0, sending.MANY_BYTES, sending.MANY_BYTES)])
        await sending.until(lambda: server.sender.rounds > 2)
        self.assertEqual((server.sender.busy, self.disk.loads), (True, 0))
        now_s[0] += sender.WARM_S + 0.1
        client.transport.resumeProducing()
        await self.received(client, sending.MANY_BYTES)
        self.assertGreater(self.disk.loads, 0)

    async def test_waits_without_spinning(self) -> None:
        """While a slice is loaded nothing is asked again, and what is sent meanwhile waits its turn."""
        server, client = await self.begin()
        with mock.patch.object(server.sender, "resumeProducing", mock.Mock(side_effect=AssertionError)):
            server.sender.send([b"later"])
            await deferLater(reactor, 0.01)
        self.assertEqual((bytes(client.received), self.disk.loads), (b"", 1))
        self.disk.waiting[0].callback(None)
        self.assertEqual(await self.received(client, 15), b"contentendlater")
        self.assertEqual((server.sender.busy, server.drained), (False, 1))

    async def test_close_while_loading(self) -> None:
        """A connection that is closed meanwhile still sends what it was given."""
        server, client = await self.begin()
        server.transport.loseConnection()
        await deferLater(reactor, 0.01)
        self.disk.waiting[0].callback(None)
        await sending.until(lambda: client.lost)
        self.assertEqual(bytes(client.received), b"contentend")

    async def test_peer_goes_while_loading(self) -> None:
        """The wait is cancelled when the peer goes."""
        server, client = await self.begin()
        client.transport.abortConnection()
        await sending.until(lambda: server.lost)
        self.assertEqual(self.disk.cancelled, 1)

    async def test_disk_fails(self) -> None:
        """A slice that cannot be read ends the connection."""
        _, client = await self.begin()
        self.disk.waiting[0].errback(OSError(5, "Input/output error"))
        await sending.until(lambda: client.lost)
        self.assertEqual(bytes(client.received), b"")

    async def test_evicted_at_once(self) -> None:
        """A machine so short of memory that what is loaded is gone again still sends."""
        server, client = await self.connect()
        self.patch(self.disk, "has", lambda *_: False)
        self.patch(self, "check", lambda *_: None)
        server.sender.send([FileSlice(self.make_file(b"content"), 0, 7), b"end"])
        self.assertEqual(await self.received(client, 10), b"contentend")
        self.assertEqual(self.disk.loads, 1)


class ColdTLSTests(ColdCase, sending.TLSSenderTests):
    async def test_waits_without_spinning(self) -> None:
        """While a slice is loaded nothing is asked again; then all is sent."""
        server, client = await self.begin()
        with mock.patch.object(server.sender, "resumeProducing", mock.Mock(side_effect=AssertionError)):
            await deferLater(reactor, 0.01)
        self.disk.waiting[0].callback(None)
        self.assertEqual(await self.received(client, 10), b"contentend")
        self.assertEqual(self.disk.loads, 1)

    async def test_peer_goes_while_loading(self) -> None:
        """A load that completes after the peer has gone does nothing."""
        server, client = await self.begin()
        client.transport.abortConnection()
        await sending.until(lambda: server.lost)
        if not self.disk.waiting[0].called:
            self.disk.waiting[0].callback(None)
        self.assertEqual(server.sender._queue, type(server.sender._queue)())


class SynchronousTests(sending.LoopbackTestCase):
    def test_loaded_at_once(self) -> None:
        """A worker that works at once makes the sender wait for nothing."""
        transport = StringTransport()
        done: Deferred[None] = Deferred()
        done.callback(None)
        made = make_sender(transport, lambda: None, lambda piece: done)
        made.send([FileSlice(self.make_file(b"content"), 0, 7)])
        made.resumeProducing()
        self.assertEqual(transport.value(), b"content")
