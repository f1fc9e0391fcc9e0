"""The ZooKeeper for trials: its settings, its command, and what it says if it cannot start."""

from __future__ import annotations

import importlib.util
import io
import os
import signal
import socket
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import zookeeper
from kafkatx.testing.zookeeper import ZooKeeperDidNotStart, ZooKeeperServer, main

JAVA = """\
#!/bin/sh
echo "$@" > arguments
exit 3
"""


class ServerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Put a java command first that ends at once."""
        bin = Path(self.mktemp()).absolute()
        bin.mkdir()
        (bin / "java").write_text(JAVA)
        (bin / "java").chmod(0o755)
        path = f"{bin}:{os.environ['PATH']}"
        self.patch(os, "environ", {**os.environ, "PATH": path, "JAVA_HOME": ""})
        self.folder = Path(self.mktemp())

    def test_settings(self) -> None:
        """The server gets its memory and settings, which may replace the usual ones."""
        server = ZooKeeperServer(
            self.folder, 7, tick_ms=50, heap_mb=64, settings={"syncLimit": "2", "x": "y"}
        )
        server.start()
        self.assertEqual(server.join(), 3)
        arguments = (self.folder / "arguments").read_text().split()
        self.assertEqual((arguments[0], arguments[-1]), ("-Xmx64m", str(self.folder.absolute() / "zoo.cfg")))
        lines = (self.folder / "zoo.cfg").read_text().splitlines()
        for line in ("tickTime=50", "clientPort=7", "clientPortAddress=127.0.0.1", "syncLimit=2", "x=y"):
            self.assertIn(line, lines)
        self.assertNotIn("syncLimit=5", lines)

    def test_ended(self) -> None:
        """A server that ends before it serves is told of, with the file of its output."""
        server = ZooKeeperServer(self.folder, 7)
        server.start()
        error = self.assertRaises(ZooKeeperDidNotStart, server.wait)
        self.assertEqual(
            str(error), f"it ended with status 3; see {self.folder.absolute() / 'zookeeper.log'}"
        )

    def test_not_installed(self) -> None:
        """Without Java, and without pyspark, the error says what to install."""
        self.patch(importlib.util, "find_spec", lambda name: None)
        error = self.assertRaises(ZooKeeperDidNotStart, ZooKeeperServer(self.folder, 7).start)
        self.assertEqual(str(error), "pyspark is not installed; pip install 'kafkatx[spark]'")
        self.patch(os, "environ", {"PATH": ""})
        error = self.assertRaises(ZooKeeperDidNotStart, ZooKeeperServer(self.folder, 7).start)
        self.assertTrue(str(error).startswith("there is no java command; on Debian: apt-get"), error)

    def test_java_home(self) -> None:
        """JAVA_HOME names the Java, as for Spark."""
        home = Path(self.mktemp()).absolute()
        self.patch(os, "environ", {**os.environ, "JAVA_HOME": str(home)})
        error = self.assertRaises(ZooKeeperDidNotStart, ZooKeeperServer(self.folder, 7).start)
        self.assertIn(f"there is no {home}/bin/java command", str(error))
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").write_text(JAVA.replace("exit 3", "exit 4"))
        (home / "bin" / "java").chmod(0o755)
        server = ZooKeeperServer(self.folder, 7)
        server.start()
        self.assertEqual(server.join(), 4)

    def test_mode(self) -> None:
        """The mode is that of the server's answer; a server that does not serve has none."""
        server = ZooKeeperServer(self.folder, 7)
        for answer, mode in (
            ("Zookeeper version: 3.9.5\nMode: follower\nNode count: 5\n", "follower"),
            ("This ZooKeeper instance is not currently serving requests\n", None),
            ("", None),
        ):
            self.patch(server, "ask", lambda command, answer=answer: answer)
            self.assertEqual(server.mode(), mode)

    def test_command(self) -> None:
        """The command ends with status 1 and a line if the server cannot start, or its port is taken."""
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        err = io.StringIO()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = str(taken.getsockname()[1])
            self.assertEqual(main(["--port", port, "--data", str(self.folder)], io.StringIO(), err), 1)
            self.assertEqual(
                err.getvalue(),
                f"zookeeper: port {port}: Address already in use; choose another with --port\n",
            )
        self.assertEqual(main(["--port", port, "--data", str(self.folder)], io.StringIO(), err), 1)
        self.assertIn("zookeeper: it ended with status 3; see ", err.getvalue())

    def test_default_port(self) -> None:
        """The port is ZooKeeper's own."""
        self.assertEqual(zookeeper.PORT, 2181)
