"""Connections that are refused, broken off or sent nonsense: lines in the broker's log."""

from __future__ import annotations

import os
import resource
import socket
import struct
from typing import ClassVar

from kafkatx.net.limited_log import MOST_LINES
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import request_frame

CONNECTIONS = 2000 if FULL else 60
MOST = 50
FILES = 400


class LogCase(AttackCase):
    def setUp(self) -> None:
        """Start a broker, and connect while there is room."""
        super().setUp()
        self.honest = self.connect()

    def assert_few_lines(self, before: int) -> None:
        """Another request is answered, and few lines were written since."""
        self.honest.ask(3, 9, MetadataRequest([]))
        self.assertLess(len(self.broker.output().splitlines()) - before, 2 * MOST_LINES)

    def lines(self) -> int:
        """Return the number of lines that the broker has written."""
        return len(self.broker.output().splitlines())


class LogLinesTests(LogCase):
    settings: ClassVar[dict[str, str]] = {"max.connections": str(MOST)}

    def test_refused(self) -> None:
        """Connections above max.connections cost a few lines, not one each."""
        before = self.lines()
        with self.beside():
            held = [self.connect() for _ in range(MOST - 2)]
            for _ in range(CONNECTIONS):
                client = self.connect()
                self.assertTrue(client.closed())
                client.__exit__()
            for client in held:
                client.__exit__()
        self.assert_few_lines(before)

    def test_nonsense(self) -> None:
        """Frames that are none cost a few lines, not one each."""
        before = self.lines()
        with self.beside():
            for _ in range(CONNECTIONS):
                client = self.connect()
                client.send(struct.pack(">i", -1))
                self.assertTrue(client.closed())
                client.__exit__()
        self.assert_few_lines(before)

    def test_broken(self) -> None:
        """Connections that break with replies under way cost no line."""
        before = self.lines()
        frame = request_frame(3, 9, MetadataRequest([])) * 200
        with self.beside():
            for _ in range(CONNECTIONS):
                client = self.connect()
                client.send(frame)
                reset = struct.pack("ii", 1, 0)
                client._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                client.__exit__()
        self.assert_few_lines(before)


class FilesTests(LogCase):
    """A process that may open few files."""

    def setUp(self) -> None:
        """Start a broker that may open few files; it inherits the limit of this process."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.files = FILES + len(os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, hard))
        try:
            super().setUp()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_refused(self) -> None:
        """Connections that would use up the files are refused with few lines; the others are served."""
        before = self.lines()
        with self.beside():
            held = [self.connect() for _ in range(2 * self.files)]
            for client in held:
                client.__exit__()
        self.assert_few_lines(before)
