"""Sending through a transport; tests that need a socket are in tests/integration/test_sending.py."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.interfaces import IPullProducer
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.net.sender import (
    COPIED_BYTES,
    JOINED_BYTES,
    PIECE_BYTES,
    Chunk,
    PlainSender,
    SocketSender,
    make_sender,
)
from kafkatx.types import FileSlice, SharedFile
from tests.net.fakes import PullTransport


class PlainSenderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a sender and a file of a few pieces."""
        self.transport = PullTransport()
        self.drained = 0
        sender = make_sender(self.transport, self.on_drained)
        self.sender = sender
        path = self.mktemp()
        self.content = os.urandom(3 * PIECE_BYTES + 1)
        with open(path, "wb") as file:
            file.write(self.content)
        self.file = SharedFile(path, os.O_RDONLY)

    def on_drained(self) -> None:
        """Count the calls."""
        self.drained += 1

    def test_interface(self) -> None:
        """The sender is the pull producer that a transport expects."""
        self.assertTrue(verifyObject(IPullProducer, self.sender))

    def test_kind(self) -> None:
        """A transport that is not a TCP socket is written to with its own write()."""
        self.assertIs(type(self.sender), PlainSender)
        self.assertNotIsInstance(self.sender, SocketSender)

    def test_kinds_of_bytes(self) -> None:
        """Every kind of chunk arrives, in order."""
        self.sender.send([b"a", bytearray(b"b"), memoryview(b"c")])
        self.sender.send([b"d"])
        self.assertEqual(self.transport.value(), b"abcd")

    def test_file_slices_in_order(self) -> None:
        """File slices are sent in order among the chunks of memory, complete from first to last byte."""
        size = len(self.content)
        self.sender.send(
            [b"head", FileSlice(self.file, 0, size), b"between", FileSlice(self.file, 7, 5), b"end"]
        )
        self.assertEqual(
            self.transport.value(), b"head" + self.content + b"between" + self.content[7:12] + b"end"
        )

    def test_reads_no_more_than_is_wanted(self) -> None:
        """A peer that does not read causes at most one piece of a file to be read."""
        self.transport.block()
        self.sender.send([FileSlice(self.file, 0, len(self.content))])
        self.assertEqual(self.transport.value(), b"")
        self.sender.resumeProducing()
        self.assertEqual(len(self.transport.value()), PIECE_BYTES)

    def test_busy_until_drained(self) -> None:
        """The sender is busy while data waits, and reports once that all is sent."""
        self.transport.block()
        self.sender.send([b"a"])
        self.sender.send([b"b"])
        self.assertEqual((self.sender.busy, self.drained), (True, 0))
        self.transport.drain()
        self.assertEqual((self.sender.busy, self.drained, self.transport.value()), (False, 1, b"ab"))
        self.assertIsNone(self.transport.producer)

    def test_gone_connection_frees_files(self) -> None:
        """A lost connection releases the files of the waiting slices."""
        self.transport.block()
        file = self.file
        del self.file
        self.sender.send([FileSlice(file, 0, 10)])
        descriptor = file.fileno()
        del file
        os.fstat(descriptor)
        self.sender.stopProducing()
        self.assertRaises(OSError, os.fstat, descriptor)

    def test_file_shorter_than_its_slice(self) -> None:
        """A file shorter than its slice aborts the connection, and the log says why."""
        chunks: list[Chunk] = [b"head", FileSlice(self.file, len(self.content) - 5, 6), b"never"]
        with capturedLogs() as events:
            self.sender.send(chunks)
            self.sender.send([b"nor this"])
        self.assertTrue(self.transport.disconnected)
        self.assertEqual(self.transport.value(), b"")
        self.assertIsNone(self.transport.producer)
        (event,) = events
        self.assertEqual(event["log_level"], LogLevel.error)
        self.assertIn("ends 1 bytes before", str(event["error"]))


class NarrowSocket:
    """A socket that takes a limited number of bytes in all, until it is given more room."""

    def __init__(self) -> None:
        self.room = 0
        self.taken = b""
        self.largest = 0

    def send(self, data: Any, flags: int) -> int:
        """Take as many bytes as there is room for."""
        self.largest = max(self.largest, len(data))
        if not self.room:
            raise BlockingIOError
        sent = min(self.room, len(data))
        self.taken += bytes(data[:sent])
        self.room -= sent
        return sent


class NarrowTransport(PullTransport):
    """A transport over a NarrowSocket; the test asks its producer for data."""

    def __init__(self) -> None:
        super().__init__()
        self.block()
        self.socket = NarrowSocket()

    def getHandle(self) -> NarrowSocket:
        """Return the socket."""
        return self.socket

    def startWriting(self) -> None:
        """Do nothing: the test asks the producer itself."""


class SocketSenderTests(SynchronousTestCase):
    """Replies of many short slices, to a peer that hardly reads."""

    SLICES = 50

    def setUp(self) -> None:
        """Make a sender, and a reply in which memory and short slices of a file alternate."""
        path = self.mktemp()
        content = os.urandom(COPIED_BYTES)
        with open(path, "wb") as file:
            file.write(content)
        self.file = SharedFile(path, os.O_RDONLY)
        self.chunks: list[Chunk] = []
        for number in range(self.SLICES):
            self.chunks += [b"head %d" % number, FileSlice(self.file, 0, len(content), len(content))]
        self.expected = b"".join(b"head %d%b" % (number, content) for number in range(self.SLICES))
        self.transport = NarrowTransport()
        connection: Any = self.transport
        self.sender = SocketSender(connection, lambda: None)

    def held_bytes(self) -> int:
        """Return the number of bytes that the sender holds in memory."""
        return sum(len(chunk) for chunk in self.sender._queue if not isinstance(chunk, FileSlice))

    def test_unsent_slices_stay_in_their_file(self) -> None:
        """Data that the socket does not take stays in its file, and only the next offer is read."""
        self.sender.send(self.chunks)
        self.assertLess(self.held_bytes(), 1000)
        self.assertLess(self.transport.socket.largest, JOINED_BYTES + COPIED_BYTES)

    def test_others_get_their_turn(self) -> None:
        """A socket that takes everything gets a reply in parts, so that other connections get their turn."""
        self.transport.socket.room = len(self.expected)
        self.sender.send(self.chunks)
        self.assertTrue(self.sender.busy)
        self.assertLess(len(self.transport.socket.taken), 10 * JOINED_BYTES + 10 * COPIED_BYTES)

    def test_every_cut(self) -> None:
        """Every byte arrives once and in order, however little the socket takes at a time."""
        for step in (1, 7, COPIED_BYTES, COPIED_BYTES + 6, JOINED_BYTES, 1_000_003):
            self.setUp()
            self.sender.send(list(self.chunks))
            rounds = 0
            while self.sender.busy and rounds < 100:
                rounds += 1
                self.transport.socket.room = step
                self.sender.resumeProducing()
                self.assertLess(self.held_bytes(), 1000)
            self.assertEqual(self.transport.socket.taken, self.expected[: len(self.transport.socket.taken)])
            self.assertEqual(len(self.transport.socket.taken), min(100 * step, len(self.expected)))
