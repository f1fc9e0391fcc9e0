"""The start of a worker: connected before PySpark is imported."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark import worker_start
from kafkatx.spark.worker_start import Connection, connect, reusing

MODULE = """
import os, sys
import pyspark.util
from pyspark.util import local_connect_and_auth

file, connection = local_connect_and_auth(int(os.environ["PYTHON_WORKER_FACTORY_PORT"]), "secret")
file.write(f"{__name__} {sys.argv[1:]} {sys.path[0]}".encode())
file.flush()
"""


def packed(text: bytes) -> bytes:
    """A text after its length."""
    return struct.pack("!i", len(text)) + text


class WorkerStartTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Listen as the JVM does."""
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(60)
        self.addCleanup(self.server.close)
        self.port = self.server.getsockname()[1]

    def connected(self) -> tuple[Connection, socket.socket]:
        """A worker's connection, and the JVM's end of it."""
        file, connection = connect(self.port, "secret")
        self.addCleanup(connection.close)
        self.addCleanup(file.close)
        accepted, _ = self.server.accept()
        self.addCleanup(accepted.close)
        return (file, connection), accepted

    def test_secret(self) -> None:
        """The secret is sent at once, without waiting for an answer."""
        _, accepted = self.connected()
        self.assertEqual(accepted.recv(100), packed(b"secret"))

    def test_first_call(self) -> None:
        """PySpark's first call gets the connection once the JVM agrees; further calls connect anew."""
        connected, accepted = self.connected()
        accepted.sendall(packed(b"ok") + b"more")
        anew: list[object] = []

        def connect_anew(where: int | str | None, secret: str | None) -> Connection:
            anew.append((where, secret))
            return connected

        replacement = reusing(connected, connect_anew)
        file, connection = replacement(self.port, "secret")
        self.assertEqual((file.read(4), connection, anew), (b"more", connected[1], []))
        replacement(7, "s")
        self.assertEqual(anew, [(7, "s")])

    def test_refused(self) -> None:
        """A secret that the JVM refuses is an error."""
        connected, accepted = self.connected()
        accepted.sendall(packed(b"err"))
        self.assertRaisesRegex(
            ConnectionError, "err", reusing(connected, lambda *_: connected), self.port, "secret"
        )

    def test_program(self) -> None:
        """The program connects, and runs the module with its arguments on that connection."""
        folder = Path(self.mktemp()).resolve()
        folder.mkdir(parents=True)
        (folder / "made_up_worker.py").write_text(MODULE)
        environment = {
            **os.environ,
            "PYTHON_WORKER_FACTORY_PORT": str(self.port),
            "PYTHON_WORKER_FACTORY_SECRET": "secret",
        }
        command = [sys.executable, worker_start.__file__, "made_up_worker", "an argument"]
        with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL):
            accepted, _ = self.server.accept()
            self.addCleanup(accepted.close)
            self.assertEqual(accepted.recv(100), packed(b"secret"))
            accepted.sendall(packed(b"ok"))
            self.assertEqual(accepted.recv(1000).decode(), f"__main__ ['an argument'] {folder}")
