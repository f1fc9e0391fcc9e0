"""Sending through a transport; what needs a real socket stands in tests/integration/test_sending.py."""

from __future__ import annotations

import os

from twisted.internet.interfaces import IPullProducer
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.net.sender import PIECE_BYTES, Chunk, PlainSender, SocketSender, make_sender
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
        """Count how often the sender says that all is sent."""
        self.drained += 1

    def test_interface(self) -> None:
        """The sender is what a transport expects of a pull producer."""
        self.assertTrue(verifyObject(IPullProducer, self.sender))

    def test_kind(self) -> None:
        """Whatever is no TCP socket is sent to through its own write()."""
        self.assertIs(type(self.sender), PlainSender)
        self.assertNotIsInstance(self.sender, SocketSender)

    def test_kinds_of_bytes(self) -> None:
        """Every kind of chunk arrives, in order."""
        self.sender.send([b"a", bytearray(b"b"), memoryview(b"c")])
        self.sender.send([b"d"])
        self.assertEqual(self.transport.value(), b"abcd")

    def test_file_slices_in_order(self) -> None:
        """Slices of files are sent where they stand among the chunks of memory, pieces and ends intact."""
        size = len(self.content)
        self.sender.send(
            [b"head", FileSlice(self.file, 0, size), b"between", FileSlice(self.file, 7, 5), b"end"]
        )
        self.assertEqual(
            self.transport.value(), b"head" + self.content + b"between" + self.content[7:12] + b"end"
        )

    def test_reads_no_more_than_is_wanted(self) -> None:
        """A peer that does not read makes at most a piece of a file be read."""
        self.transport.block()
        self.sender.send([FileSlice(self.file, 0, len(self.content))])
        self.assertEqual(self.transport.value(), b"")
        self.sender.resumeProducing()
        self.assertEqual(len(self.transport.value()), PIECE_BYTES)

    def test_busy_until_drained(self) -> None:
        """The sender is busy while something waits, and says once that nothing does any more."""
        self.transport.block()
        self.sender.send([b"a"])
        self.sender.send([b"b"])
        self.assertEqual((self.sender.busy, self.drained), (True, 0))
        self.transport.drain()
        self.assertEqual((self.sender.busy, self.drained, self.transport.value()), (False, 1, b"ab"))
        self.assertIsNone(self.transport.producer)

    def test_gone_connection_frees_files(self) -> None:
        """When the connection goes, what waits lets go of its files."""
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
        """Where a file lacks what was promised, the connection is broken off and the log says why."""
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
