"""The proxies hold back one direction, or both, and let go of what they held; over real sockets."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading

from twisted.trial.unittest import SynchronousTestCase

from tests.cluster.network.places import CLIENT, both_ways
from tests.cluster.network.proxies import Proxies
from tests.until import until

CONNECT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"x")
sys.stdout.write(connection.recv(1).decode())
"""


class Server:
    """A server that answers each byte by the same one, and keeps what it got."""

    def __init__(self, port: int = 0) -> None:
        self.got = b""
        self._listening = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(100):
                self.got += data
                connection.sendall(data)

    def close(self) -> None:
        """Accept no more."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


class ProxiesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a server, which is broker 2, and a proxy in front of it."""
        self.server = Server()
        self.addCleanup(self.server.close)
        self.proxies = Proxies()
        self.addCleanup(self.proxies.close)
        self.port = self.proxies.listen("2", self.server.port)

    def connect(self) -> socket.socket:
        """Connect through the proxy."""
        connection = socket.create_connection(("127.0.0.1", self.port), 20)
        self.addCleanup(connection.close)
        return connection

    def test_forwards(self) -> None:
        """Bytes go both ways, and an end at one side ends the other."""
        connection = self.connect()
        connection.sendall(b"a")
        self.assertEqual(connection.recv(1), b"a")
        connection.shutdown(socket.SHUT_WR)
        self.assertEqual(connection.recv(1), b"")

    def test_requests_held(self) -> None:
        """A request waits until the direction is free."""
        connection = self.connect()
        connection.sendall(b"a")
        connection.recv(1)
        self.proxies.cut([(CLIENT, "2")])
        connection.sendall(b"b")
        connection.settimeout(0.2)
        self.assertRaises(TimeoutError, connection.recv, 1)
        self.assertEqual(self.server.got, b"a")
        self.proxies.heal([(CLIENT, "2")])
        connection.settimeout(20)
        self.assertEqual(connection.recv(1), b"b")

    def test_replies_held(self) -> None:
        """The server gets a request whose reply waits."""
        connection = self.connect()
        self.proxies.cut([("2", CLIENT)])
        connection.sendall(b"a")
        until(lambda: self.server.got == b"a", "the server has the request")
        connection.settimeout(0.2)
        self.assertRaises(TimeoutError, connection.recv, 1)
        self.proxies.heal([("2", CLIENT)])
        connection.settimeout(20)
        self.assertEqual(connection.recv(1), b"a")

    def test_reset(self) -> None:
        """A connection that is reset has lost what was held back; other pairs keep theirs."""
        connection = self.connect()
        connection.sendall(b"a")
        connection.recv(1)
        other = Server()
        self.addCleanup(other.close)
        kept = socket.create_connection(("127.0.0.1", self.proxies.listen("3", other.port)), 20)
        self.addCleanup(kept.close)
        self.proxies.cut(both_ways(CLIENT, "2"))
        connection.sendall(b"b")
        self.proxies.heal(both_ways(CLIENT, "2"), reset=True)
        with self.assertRaises(OSError):
            if not connection.recv(1):
                raise ConnectionResetError
        self.assertEqual(self.server.got, b"a")
        kept.sendall(b"k")
        self.assertEqual(kept.recv(1), b"k")

    def test_refused(self) -> None:
        """The proxy refuses connections while the server does, but for the first, and accepts them again."""
        self.server.close()
        with (
            socket.create_connection(("127.0.0.1", self.port), 20) as connection,
            contextlib.suppress(OSError),
        ):
            connection.recv(1)

        def refused() -> bool:
            try:
                socket.create_connection(("127.0.0.1", self.port), 20).close()
            except ConnectionRefusedError:
                return True
            return False

        until(refused, "the proxy refuses connections")
        again = Server(self.server.port)
        self.addCleanup(again.close)
        until(lambda: not refused(), "the proxy accepts connections")
        connection = self.connect()
        connection.sendall(b"a")
        self.assertEqual(connection.recv(1), b"a")

    def test_source(self) -> None:
        """A connection is a broker's if its process was started with a broker.id."""
        self.proxies.cut([("1", "2")])
        made = [
            subprocess.Popen(
                [sys.executable, "-c", CONNECT, str(self.port), f"broker.id={broker_id}"],
                stdout=subprocess.PIPE,
            )
            for broker_id in (1, 3)
        ]
        outputs = [made[1].communicate(timeout=20)[0]]
        self.assertIs(made[0].poll(), None)
        self.proxies.heal([("1", "2")])
        outputs.append(made[0].communicate(timeout=20)[0])
        self.assertEqual(outputs, [b"x", b"x"])
