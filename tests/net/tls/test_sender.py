"""The sender of TLS connections."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.tls.sender import TlsSender
from kafkatx.types import FileSlice, SharedFile


class PushTransport(StringTransport):
    """A transport that pauses its producer after each write, if it is *full*."""

    full = False
    producer: Any

    def write(self, data: bytes) -> None:
        """Keep the bytes."""
        super().write(data)
        if self.full and self.producer is not None:
            self.producer.pauseProducing()


class TlsSenderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A sender, and a slice of a file of 600 kB."""
        self.transport = PushTransport()
        self.drained = 0
        self.sender = TlsSender(self.transport, self.note)
        path = self.mktemp()
        self.data = bytes(range(256)) * 2400
        with open(path, "wb") as file:
            file.write(self.data)
        self.file = SharedFile(path, os.O_RDONLY)

    def note(self) -> None:
        """Count the calls."""
        self.drained += 1

    def test_all_at_once(self) -> None:
        """While there is room all is written, and the producer is gone at the end."""
        self.sender.send([b"head", FileSlice(self.file, 0, len(self.data)), b"tail"])
        self.assertEqual(self.transport.value(), b"head" + self.data + b"tail")
        self.assertEqual((self.sender.busy, self.transport.producer, self.drained), (False, None, 1))

    def test_full(self) -> None:
        """A full transport gets one piece at a time, and what is sent meanwhile follows in order."""
        self.transport.full = True
        self.sender.send([FileSlice(self.file, 0, len(self.data))])
        first = len(self.transport.value())
        self.assertLess(first, len(self.data))
        self.sender.send([b"next"])
        self.assertTrue(self.sender.busy)
        for _ in range(5):
            if self.sender.busy:
                self.sender.resumeProducing()
        self.assertEqual(self.transport.value(), self.data + b"next")
        self.assertEqual((self.sender.busy, self.drained), (False, 1))

    def test_short_file(self) -> None:
        """A file that ends early aborts the connection: the peer must not take the rest for a reply."""
        self.sender.send([FileSlice(self.file, len(self.data) - 5, 100)])
        self.assertTrue(self.transport.disconnected)
        self.assertTrue(self.sender.busy)
        self.flushLoggedErrors()
