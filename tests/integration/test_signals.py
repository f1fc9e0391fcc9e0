"""Signals and processes: SIGHUP, a daemon that starts or cannot, a broker whose parent goes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.integration.raw import RawClient
from tests.until import until

TWISTD = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()"]
END_S = 30.0
MARKER = ".kafka_cleanshutdown"

SLOW_START = """
from twisted.internet.defer import Deferred
from twisted.python import log
from kafkatx.broker.service import BrokerService

async def _open(self):
    log.msg("starting slowly")
    await Deferred()

BrokerService._open = _open
"""

PARENT = """
import sys
from kafkatx.testing import EmbeddedBroker

broker = EmbeddedBroker(data_dir=sys.argv[1], run_in="process").start()
print(broker.pid, flush=True)
sys.stdin.read()
"""


def alive(pid: int) -> bool:
    """True if there is such a process, and it has not ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class ProcessTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a directory to start in, and find a free port."""
        self.dir = os.path.abspath(self.mktemp())
        os.makedirs(self.dir)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.bootstrap = f"127.0.0.1:{free.getsockname()[1]}"
        self.settings = {"listeners": f"PLAINTEXT://{self.bootstrap}", "log.dirs": "data"}

    def path(self, *names: str) -> str:
        """A file below the directory."""
        return os.path.join(self.dir, *names)

    def read(self, *names: str) -> str:
        """The text of a file, empty where there is none."""
        with contextlib.suppress(FileNotFoundError), open(self.path(*names)) as file:
            return file.read()
        return ""

    def ask_for(self, client: RawClient, name: str) -> Any:
        """The value of a setting of the broker."""
        asked = DescribeConfigsRequest([DescribeConfigsResource(4, "0", [name])])
        return client.ask(32, 1, asked).results[0].configs[0].value

    def command(self, *options: str, **settings: str) -> list[str]:
        """twistd with these options and settings; ``_`` for ``.``."""
        sets = {**self.settings, **{name.replace("_", "."): value for name, value in settings.items()}}
        pairs = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
        return [*TWISTD, *options, "kafkatx", "--config", "server.properties", *pairs]


class ForegroundTests(ProcessTestCase):
    def setUp(self) -> None:
        """Write an empty settings file."""
        super().setUp()
        with open(self.path("server.properties"), "w"):
            pass

    def start(self, *before: str) -> subprocess.Popen[str]:
        """Start a broker in the foreground, and wait until it is ready."""
        process = subprocess.Popen(
            [*before, *self.command("-n", "--pidfile=", "--logfile=log")],
            cwd=self.dir,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: "kafkatx is ready" in self.read("log"), "ready")
        return process

    def test_hang_up(self) -> None:
        """SIGHUP, as of a terminal that is closed, is a clean stop, and the log says so."""
        process = self.start()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(END_S), 0)
        self.assertIn("Received SIGHUP", self.read("log"))
        self.assertIn("every log is flushed", self.read("log"))
        self.assertTrue(os.path.exists(self.path("data", MARKER)))

    def test_nohup(self) -> None:
        """Under nohup, which ignores SIGHUP, the broker goes on."""
        process = self.start("nohup")
        process.send_signal(signal.SIGHUP)
        with RawClient(self.bootstrap) as client:
            self.ask_for(client, "num.partitions")
        process.send_signal(signal.SIGTERM)
        process.wait(END_S)
        self.assertNotIn("SIGHUP", self.read("log"))


class DaemonTests(ProcessTestCase):
    def start(self, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """Start a daemon with this settings file; gives how its parent ended."""
        with open(self.path("server.properties"), "w") as file:
            file.write(text)
        command = self.command("--pidfile=pid", "--logfile=log", **settings)
        self.addCleanup(self.stop)
        return subprocess.run(command, cwd=self.dir, capture_output=True, text=True, timeout=END_S)

    def stop(self) -> None:
        """Stop the daemon, if there is one."""
        pid = self.read("pid")
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGTERM)
            until(lambda: not alive(int(pid)), "the daemon has ended")

    def test_starts(self) -> None:
        """The parent ends with status 0 when clients can connect, and not before."""
        done = self.start()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with RawClient(self.bootstrap) as client:
            self.ask_for(client, "num.partitions")
        self.stop()
        self.assertTrue(os.path.exists(self.path("data", MARKER)))

    def check_cannot(self, *words: str, text: str = "", **settings: str) -> None:
        """The start fails: status 1, one line on the terminal and in the log; nothing is left."""
        done = self.start(text, **settings)
        self.assertEqual(done.returncode, 1, done.stderr)
        (in_log,) = [line for line in self.read("log").splitlines() if "kafkatx: " in line]
        (on_terminal,) = [line for line in done.stderr.splitlines() if line.startswith("kafkatx: ")]
        for word in words:
            self.assertIn(word, in_log)
            self.assertIn(word, on_terminal)
        self.assertNotIn("Traceback", self.read("log") + done.stderr)
        until(lambda: not self.read("pid"), "the pid file is gone")

    def test_killed_while_starting(self) -> None:
        """A daemon that is killed before it is ready leaves no parent that waits for it for ever."""
        with open(self.path("server.properties"), "w"):
            pass
        command = self.command("--pidfile=pid", "--logfile=log")
        command[2] = SLOW_START + command[2]
        parent = subprocess.Popen(command, cwd=self.dir, stderr=subprocess.PIPE, text=True)
        until(lambda: "starting slowly" in self.read("log"), "it has begun to start")
        self.assertIsNone(parent.poll())
        os.kill(int(self.read("pid")), signal.SIGKILL)
        try:
            _, told = parent.communicate(timeout=END_S)
        finally:
            parent.kill()
        self.assertEqual(parent.returncode, 1)
        self.assertIn("kafkatx: the daemon has ended", told)

    def test_port_taken(self) -> None:
        """The port is another's."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            listener = f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}"
            self.check_cannot("cannot listen", listener, listeners=listener)

    def test_directory_locked(self) -> None:
        """The directory is another broker's."""
        self.assertEqual(self.start().returncode, 0)
        os.rename(self.path("pid"), self.path("first"))
        os.remove(self.path("log"))
        try:
            self.check_cannot("log.dirs", "data", listeners="PLAINTEXT://127.0.0.1:0")
        finally:
            os.rename(self.path("first"), self.path("pid"))

    def test_bad_setting(self) -> None:
        """A setting is wrong."""
        self.check_cannot("num.partitions=many", text="num.partitions=many\n")

    def test_reload(self) -> None:
        """SIGHUP reads the settings file again: what may change changes, the rest needs a restart."""
        self.assertEqual(self.start("log.retention.hours=1\nnum.partitions=1\n").returncode, 0)
        pid = int(self.read("pid"))

        def hang_up(text: str, logged: str) -> None:
            with open(self.path("server.properties"), "w") as file:
                file.write(text)
            os.kill(pid, signal.SIGHUP)
            until(lambda: logged in self.read("log"), logged)

        with RawClient(self.bootstrap) as client:
            hang_up("log.retention.ms=5000\nmax.connections=7\nbroker.rack=b\n", "need a restart: ")
            until(lambda: "settings were read again: " in self.read("log"), "read again")
            self.assertEqual(self.ask_for(client, "log.retention.ms"), "5000")
            self.assertIn("broker.rack", self.read("log"))
            hang_up("num.partition=5\n", "every setting stays as it is: num.partition: unknown setting")
            self.assertEqual(self.ask_for(client, "log.retention.ms"), "5000")
        self.assertTrue(alive(pid))


class OrphanTests(ProcessTestCase):
    def test_parent_is_killed(self) -> None:
        """EmbeddedBroker(run_in="process") stops cleanly when the process that made it is killed."""
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, self.path("data")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert parent.stdout is not None
        assert parent.stdin is not None
        with parent.stdout, parent.stdin:
            pid = int(parent.stdout.readline())
            self.assertTrue(alive(pid))
            parent.kill()
            parent.wait()
        try:
            until(lambda: not alive(pid), "the broker has ended")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.assertTrue(os.path.exists(self.path("data", MARKER)))
