"""``kafkatx up``, ``status`` and ``stop`` as processes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker

KAFKATX = [sys.executable, "-m", "kafkatx"]
END_S = 60.0
READY = re.compile(
    r"is ready: clients connect to (\S+), schema registry at \S+, console at http://127\.0\.0\.1:\d+/console/,"
    r" data in (.*) \(process (\d+)\)\n"
)
MARKER = ".kafka_cleanshutdown"


class UpCase(SynchronousTestCase):
    """Starts brokers in a directory of the test's own."""

    def setUp(self) -> None:
        """Make the directory."""
        self.dir = os.path.realpath(self.mktemp())
        os.makedirs(self.dir)
        self.data = os.path.join(self.dir, "data")
        self.environment = {
            n: v for n, v in os.environ.items() if n not in ("KAFKATX_BOOTSTRAP", "NOTIFY_SOCKET")
        }
        self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))

    def run_command(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; it prints no traceback."""
        done = subprocess.run(
            [*KAFKATX, *arguments],
            cwd=self.dir,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=END_S,
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def start(
        self, *arguments: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start a broker in the foreground, in a session without a terminal."""
        process = subprocess.Popen(
            [*KAFKATX, "up", "--port", "0", *arguments],
            cwd=self.dir,
            env=self.environment,
            text=True,
            start_new_session=True,
            stdout=stdout,
            stderr=stderr,
        )
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        return process

    def ready(self, process: subprocess.Popen[str]) -> str:
        """Wait until a broker is ready; return its address."""
        assert process.stdout is not None
        line = process.stdout.readline()
        found = READY.search(line)
        assert found is not None, line + process.communicate(timeout=END_S)[1]
        return found[1]

    def end(self, process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[str, str]:
        """Stop a broker; it ends with 0. Return what else it printed."""
        process.send_signal(number)
        printed, logged = process.communicate(timeout=END_S)
        self.assertEqual(process.returncode, 0, logged)
        self.assertNotIn("Traceback", logged)
        return printed, logged


class ForegroundTests(UpCase):
    def test_life(self) -> None:
        """One line when it is ready, one when it has stopped, the log on standard error, 0 at the end."""
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("--set", "num.partitions=2")
            self.ready(process)
            printed, logged = self.end(process, number)
            self.assertEqual(printed, "kafkatx has stopped\n")
            rows = logged.splitlines()
            self.assertEqual(len(rows), 2, rows)
            self.assertRegex(rows[0], r"^\d{4}-\d\d-\d\dT[\d:.]+Z info kafkatx is ready: broker 0")
            self.assertTrue(rows[1].endswith("info kafkatx has stopped: every log is flushed"))
            self.assertTrue(os.path.exists(os.path.join(self.data, MARKER)))
            self.assertFalse(
                {"kafkatx-process.json", "kafkatx.pid", "kafkatx.log"} & set(os.listdir(self.data))
            )

    def test_json(self) -> None:
        """With --log-format json every line is an object, on whichever stream."""
        process = self.start(
            "--log-format", "json", "--memory", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        self.assertEqual(list(first), ["time", "level", "logger", "message"])
        self.assertEqual(first["level"], "info")
        process.send_signal(signal.SIGTERM)
        for line in process.communicate(timeout=END_S)[0].splitlines():
            json.loads(line)

    def test_memory(self) -> None:
        """A broker in memory leaves nothing behind."""
        process = self.start("--memory")
        bootstrap = self.ready(process)
        self.run_command("topics", "create", "t", "-b", bootstrap)
        self.run_command("status", "-b", bootstrap)
        self.end(process)
        self.assertEqual(os.listdir(self.dir), [])

    def test_log_level(self) -> None:
        """--log-level leaves out what is below it."""
        process = self.start("--memory", "--log-level", "error", "--set", "num.io.threads=8")
        self.ready(process)
        self.assertEqual(self.end(process)[1], "")

    def test_hang_up(self) -> None:
        """Without a terminal SIGHUP has the settings file read again."""
        path = os.path.join(self.dir, "server.properties")
        with open(path, "w") as file:
            file.write("log.retention.ms=5000\n")
        process = self.start("--config", "server.properties", "--memory")
        self.ready(process)
        with open(path, "w") as file:
            file.write("log.retention.ms=6000\n")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        logged = ""
        while "were read again" not in logged:
            logged = process.stderr.readline()
        self.assertIn("log.retention.ms changed", logged)
        self.end(process)

    def test_closed_streams(self) -> None:
        """A broker whose standard streams are closed serves and stops cleanly."""
        port = _free_port()
        process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "-", *KAFKATX, "up", "--port", str(port)],
            cwd=self.dir,
            env=self.environment,
        )
        self.addCleanup(process.kill)
        _wait_for_port(port)
        self.run_command("status", "-b", f"127.0.0.1:{port}")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(END_S), 0)
        self.assertTrue(os.path.exists(os.path.join(self.data, MARKER)))

    def test_full_pipe(self) -> None:
        """A broker whose output is not read serves and stops: lines are dropped."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 1024)
        os.set_blocking(writing, True)
        port = _free_port()
        process = self.start("--port", str(port), "--memory", stdout=writing, stderr=writing)
        os.close(writing)
        _wait_for_port(port)
        self.run_command("status", "-b", f"127.0.0.1:{port}")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(END_S), 0)

    def test_systemd(self) -> None:
        """systemd is told when the broker is ready and when it stops."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(f"\0kafkatx-up-{os.getpid()}")
            systemd.settimeout(END_S)
            self.environment["NOTIFY_SOCKET"] = f"@kafkatx-up-{os.getpid()}"
            process = self.start("--memory")
            self.assertEqual(systemd.recv(100), b"READY=1")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(systemd.recv(100), b"STOPPING=1")
            process.communicate(timeout=END_S)


class TerminalTests(UpCase):
    def start_at_terminal(self, *arguments: str) -> tuple[int, int]:
        """Start a broker at a terminal of its own; return its process id and the terminal."""
        pid, terminal = pty.fork()
        if not pid:
            os.chdir(self.dir)
            os.execve(sys.executable, [*KAFKATX, "up", "--port", "0", *arguments], self.environment)
        self.addCleanup(os.close, terminal)
        return pid, terminal

    def read_until(self, terminal: int, text: str) -> str:
        """Read what is shown until *text* is."""
        shown = b""
        deadline_s = time.monotonic() + END_S
        while text.encode() not in shown:
            left_s = deadline_s - time.monotonic()
            if left_s < 0 or not select.select([terminal], [], [], left_s)[0]:
                raise AssertionError(shown)
            try:
                shown += os.read(terminal, 4096)
            except OSError:
                raise AssertionError(shown) from None
        return shown.decode().replace("\r\n", "\n")

    def test_banner(self) -> None:
        """A person sees a banner and no log; Ctrl-C ends it with a closing line and 0."""
        pid, terminal = self.start_at_terminal()
        shown = self.read_until(terminal, "Ctrl-C stops the broker.")
        self.assertIn("clients connect to  127.0.0.1:", shown)
        self.assertIn(f"data                {self.data}\n", shown)
        self.assertIn("kafkatx status", shown)
        self.assertNotIn(" info ", shown)
        os.write(terminal, b"\x03")
        self.read_until(terminal, "kafkatx has stopped")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_terminal_closes(self) -> None:
        """A broker whose terminal is closed stops cleanly."""
        pid, terminal = self.start_at_terminal()
        self.read_until(terminal, "Ctrl-C stops the broker.")
        os.kill(pid, signal.SIGHUP)
        self.read_until(terminal, "kafkatx has stopped")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertTrue(os.path.exists(os.path.join(self.data, MARKER)))


class DaemonTests(UpCase):
    def setUp(self) -> None:
        """See to it that no broker is left."""
        super().setUp()
        command = [*KAFKATX, "stop", "--data", self.data]
        self.addCleanup(subprocess.run, command, capture_output=True)

    def pid(self) -> int:
        """Return the process id that is in the pid file."""
        with open(os.path.join(self.data, "kafkatx.pid")) as file:
            return int(file.read())

    def test_life(self) -> None:
        """up returns when clients can connect, status tells of the broker, stop waits for its end."""
        line = self.run_command("up", "--daemon", "--port", "0").stdout
        found = READY.fullmatch(line.partition("kafkatx ")[2].partition(" ")[2])
        assert found is not None, line
        self.assertEqual((found[2], int(found[3])), (self.data, self.pid()))
        self.run_command("topics", "create", "t", "-p", "3", "-b", found[1])
        choices: list[tuple[str, ...]] = [(), ("--data", "data"), ("-b", found[1])]
        for options in choices:
            told = json.loads(self.run_command("status", "--json", *options).stdout)
            self.assertEqual((told["ready"], told["pid"], told["partitions"]), (True, self.pid(), 3))
        self.run_command("-b", found[1], "status")
        self.assertEqual(told["advertised"], found[1])
        self.assertEqual(told["log_dirs"][0]["path"], self.data)
        self.assertGreater(told["log_dirs"][0]["free_bytes"], 0)
        self.assertIn("stopped process", self.run_command("stop").stdout)
        self.run_command("status", "--data", "data", code=1)
        self.assertIn("no broker is running", self.run_command("stop", code=1).stderr)
        self.assertTrue(os.path.exists(os.path.join(self.data, MARKER)))
        self.assertFalse(os.path.exists(os.path.join(self.data, "kafkatx.pid")))
        with open(os.path.join(self.data, "kafkatx.log")) as file:
            self.assertIn("every log is flushed", file.read())

    def test_cannot_start(self) -> None:
        """A daemon that cannot start is one line and 1; the broker that is there goes on."""
        self.run_command("up", "--daemon", "--port", "0")
        pid = self.pid()
        for arguments in (("--daemon",), ()):
            (line,) = self.run_command("up", "--port", "0", *arguments, code=1).stderr.splitlines()[-1:]
            self.assertIn("log.dirs=", line)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            done = self.run_command("up", "--daemon", "--port", port, "--data", "other", code=1)
        (line,) = done.stderr.splitlines()
        self.assertIn("cannot listen there", line)
        with open(os.path.join(self.dir, "other", "kafkatx.log")) as file:
            self.assertIn("critical listeners=", file.read())
        self.assertEqual(self.pid(), pid)
        self.run_command("status")

    def test_killed(self) -> None:
        """After kill -9 there is no broker, whatever files it left, and a new one starts."""
        self.run_command("up", "--daemon", "--port", "0")
        os.kill(self.pid(), signal.SIGKILL)
        _wait_for_end(self.pid())
        self.assertIn("the last one was process", self.run_command("status", "--data", "data", code=1).stderr)
        self.run_command("stop", code=1)
        self.run_command("up", "--daemon", "--port", "0")
        self.run_command("stop")

    def test_foreign_process(self) -> None:
        """Files that name a process that is no broker do it no harm."""
        os.makedirs(self.data)
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as foreign:
            for name in (".lock", "kafkatx.pid"):
                with open(os.path.join(self.data, name), "w") as file:
                    file.write(f"{foreign.pid}\n")
            self.run_command("stop", code=1)
            self.assertIsNone(foreign.poll())
            foreign.kill()

    def test_rotation(self) -> None:
        """SIGUSR1 begins a new log file after the old one was renamed."""
        self.run_command("up", "--daemon", "--port", "0")
        log = os.path.join(self.data, "kafkatx.log")
        os.rename(log, log + ".1")
        os.kill(self.pid(), signal.SIGUSR1)
        self.run_command("stop")
        with open(log) as file:
            self.assertIn("every log is flushed", file.read())

    def test_twistd(self) -> None:
        """A broker that twistd has started is found and stopped, too."""
        with EmbeddedBroker(data_dir=self.data, run_in="process") as broker:
            self.run_command("status", "-b", broker.bootstrap)
            deadline_s = time.monotonic() + END_S
            while not os.path.exists(os.path.join(self.data, "kafkatx-process.json")):
                self.assertLess(time.monotonic(), deadline_s)
            told = json.loads(self.run_command("status", "--json").stdout)
            self.assertEqual(told["pid"], broker.pid)
            self.assertIn(f"stopped process {broker.pid}", self.run_command("stop").stdout)


class MistakeTests(UpCase):
    def test_one_line(self) -> None:
        """A mistake is one line that names it, and no broker."""
        os.makedirs(self.data)
        in_the_way = os.path.join(self.dir, "file")
        with open(in_the_way, "w"):
            pass
        mistakes: list[tuple[str, tuple[str, ...]]] = [
            ("num.partition: unknown setting", ("--set", "num.partition=3")),
            ("nowhere", ("--config", "nowhere")),
            ("log.dirs=", ("--data", in_the_way, "--port", "0")),
            ("log.dirs=", ("--data", in_the_way, "--port", "0", "--daemon")),
        ]
        for word, arguments in mistakes:
            (line,) = self.run_command("up", *arguments, code=1).stderr.splitlines()
            self.assertIn(word, line)
        mistakes = [
            ("--port and --set listeners", ("--port", "1", "--set", "listeners=PLAINTEXT://127.0.0.1:1")),
            ("leave out --data", ("--memory", "--data", "x")),
            ("leave out --memory", ("--memory", "--daemon")),
        ]
        for word, arguments in mistakes:
            self.assertIn(word, self.run_command("up", *arguments, code=2).stderr)
        self.assertEqual(os.listdir(self.data), [])


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_for_port(port: int) -> None:
    deadline_s = time.monotonic() + END_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), END_S).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)


def _wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(handle):
        select.select([handle], [], [], END_S)
