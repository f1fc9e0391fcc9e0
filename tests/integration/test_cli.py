"""The command ``kafkatx`` as a process against a real broker, and kcat beside it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import IO

from twisted.trial.unittest import SynchronousTestCase

from tests.integration.clients import CODECS, new_topic
from tests.integration.shared import shared_broker

COMMAND = [sys.executable, "-c", "import sys; from kafkatx.cli.main import main; sys.exit(main())"]
TIMEOUT_S = 60.0
HEAVY = {"twisted", "rich", "pyspark", "numpy"}
"""Each of them takes longer to load than all else that a short command does."""

EVERY_BYTE = b"".join(bytes([n]) for n in range(256) if n != 10)


def environment() -> dict[str, str]:
    """Ours, with the broker in it."""
    return {**os.environ, "KAFKATX_BOOTSTRAP": shared_broker().bootstrap}


class ProcessCase(SynchronousTestCase):
    """Runs commands as processes."""

    def setUp(self) -> None:
        """A topic that does not exist yet."""
        self.topic = new_topic()

    def run_command(self, *arguments: str, data: bytes = b"", code: int = 0) -> bytes:
        """Run a command and return its output; it must end with *code*, without a traceback."""
        done = subprocess.run(
            [*COMMAND, *arguments], input=data, capture_output=True, timeout=TIMEOUT_S, env=environment()
        )
        self.errors = done.stderr.decode()
        self.assertEqual(done.returncode, code, self.errors)
        self.assertNotIn("Traceback", self.errors)
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command that goes on; it is killed when the test ends."""
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        return process


class CommandLineTests(ProcessCase):
    def kcat(self, *arguments: str, data: bytes = b"") -> bytes:
        """Run kcat and return its output."""
        command = ["kcat", "-b", shared_broker().bootstrap, "-q", *arguments]
        return subprocess.run(command, input=data, capture_output=True, timeout=TIMEOUT_S, check=True).stdout

    def test_every_byte(self) -> None:
        """Binary lines, empty lines and a last line without newline come back as they were."""
        data = b"first\n\n" + EVERY_BYTE + b"\nlast"
        for codec in CODECS:
            topic = new_topic()
            self.run_command("produce", topic, "-z", codec, data=data)
            self.assertIn("4 messages, 264 bytes", self.errors)
            self.assertEqual(self.run_command("consume", topic, "-e"), data + b"\n")

    def test_file(self) -> None:
        """A large file comes back the same, through several batches and partitions."""
        self.run_command("topics", "create", self.topic, "-p", "3")
        path = self.mktemp()
        lines = sorted(b"%d %s" % (n, b"x" * (n % 300)) for n in range(40_000))
        with open(path, "wb") as file:
            file.write(b"\n".join(lines))
        self.run_command("produce", self.topic, path)
        self.assertEqual(sorted(self.run_command("consume", self.topic, "-e").splitlines()), lines)

    def test_kcat_reads(self) -> None:
        """kcat reads what we wrote: values, keys and headers."""
        self.run_command("produce", self.topic, "-K", "\\t", "-H", "a=b", data=b"k\tv\nno key\n")
        self.assertEqual(
            self.kcat("-C", "-e", "-t", self.topic, "-f", "%k|%s|%h\n"), b"k|v|a=b\n|no key|a=b\n"
        )

    def test_formats_are_kcats(self) -> None:
        """Messages of kcat are printed byte for byte as kcat prints them, in each of its formats."""
        self.kcat(
            "-P", "-t", self.topic, "-K", ":", "-H", "h=1", "-H", "g", data="k:v\nkey:\n:v\nä:ö\n".encode()
        )
        every = "%t %p %o %k %K %s %S %T %h %% \\x41\\t%R\\n"
        for arguments in (["-f", every], ["-J"], ["-K", "|", "-D", ";"], []):
            theirs = self.kcat("-C", "-e", "-t", self.topic, *arguments)
            ours = self.run_command("consume", self.topic, "-e", *arguments)
            self.assertEqual(ours, theirs)
        self.assertEqual(len(theirs.splitlines()), 4)

    def test_positions(self) -> None:
        """Start and stop by offset, by count from the end and by time, as kcat does."""
        self.kcat("-P", "-t", self.topic, data=b"0\n1\n2\n")
        between = int(time.time() * 1000) + 1
        while time.time() * 1000 <= between:
            pass
        self.kcat("-P", "-t", self.topic, data=b"3\n4\n")
        for position, expected in (
            ("beginning", b"0\n1\n2\n3\n4\n"),
            ("1", b"1\n2\n3\n4\n"),
            ("-2", b"3\n4\n"),
            ("end", b""),
            (f"s@{between}", b"3\n4\n"),
            (f"e@{between}", b"0\n1\n2\n"),
        ):
            got = self.run_command("consume", self.topic, "-e", "-o", position)
            self.assertEqual(got, expected, position)

    def test_follows(self) -> None:
        """Without -e a message is printed as soon as it is there; Ctrl-C then ends with 130."""
        self.run_command("topics", "create", self.topic)
        process = self.start("consume", self.topic)
        for text in (b"one\n", b"two\n"):
            self.run_command("produce", self.topic, data=text)
            assert process.stdout is not None
            self.assertEqual(next_line(process.stdout), text)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 130)
        self.assertNotIn(b"Traceback", errors)

    def test_a_pipe_that_pauses(self) -> None:
        """A line is sent though the pipe that it came through stays open."""
        producer = self.start("produce", self.topic)
        assert producer.stdin is not None
        producer.stdin.write(b"early\nunfini")
        producer.stdin.flush()
        deadline = time.monotonic() + TIMEOUT_S
        while self.topic.encode() not in self.run_command("topics", "list").splitlines():
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(self.run_command("consume", self.topic, "-c", "1"), b"early\n")
        _, errors = producer.communicate(b"shed", timeout=TIMEOUT_S)
        self.assertIn(b"2 messages, 15 bytes", errors)
        self.assertEqual(self.run_command("consume", self.topic, "-e"), b"early\nunfinished\n")

    def test_head(self) -> None:
        """The command ends quietly when the reader of its output goes away."""
        self.run_command("produce", self.topic, data=b"x" * 99 + b"\n" + (b"y" * 99 + b"\n") * 50_000)
        process = self.start("consume", self.topic)
        assert process.stdout is not None and process.stderr is not None
        self.assertEqual(next_line(process.stdout), b"x" * 99 + b"\n")
        process.stdout.close()
        self.assertEqual(process.wait(TIMEOUT_S), 0)
        self.assertEqual(process.stderr.read(), b"")

    def test_topics(self) -> None:
        """A topic is created, shown and deleted."""
        self.run_command("topics", "create", self.topic, "-p", "2", "-c", "retention.ms=777")
        described = json.loads(self.run_command("topics", "describe", self.topic, "--json"))
        self.assertEqual(len(described["partitions"]), 2)
        self.assertEqual(described["configs"]["retention.ms"], "777")
        self.assertIn("retention.ms=777", self.run_command("topics", "describe", self.topic).decode())
        self.run_command("topics", "delete", self.topic, "--yes")
        self.assertNotIn(self.topic, self.run_command("topics", "list").decode())

    def test_users_mistakes(self) -> None:
        """Each is told in one line, with exit code 1."""
        self.run_command("topics", "create", self.topic)
        for arguments, reason in (
            (["topics", "list", "-b", "127.0.0.1:1"], "no broker answers at 127.0.0.1:1"),
            (["topics", "list", "-b", "127.0.0.1:x"], "give HOST:PORT"),
            (["topics", "create", "../x"], "'../x'"),
            (["topics", "create", self.topic], "already exists"),
            (["topics", "create", "x", "-c", "no.such.setting=1"], "no.such.setting"),
            (["topics", "delete", "no-such-topic", "-y"], "no-such-topic"),
            (["produce", self.topic, "-p", "7"], "has no partition 7"),
            (["produce", self.topic, "--partitioner", "randon"], "random"),
            (["consume", "no-such-topic"], "kafkatx topics create"),
            (["consume", self.topic, "-o", "100"], "has no offset 100: the earliest is 0, the latest 0"),
        ):
            self.run_command(*arguments, data=b"x\n", code=1)
            self.assertIn(reason, self.errors)
            self.assertEqual(len(self.errors.splitlines()), 1, self.errors)

    def test_partitioner_plugin(self) -> None:
        """--partitioner chooses a plugin: round-robin fills all partitions."""
        self.run_command("topics", "create", self.topic, "-p", "2")
        self.run_command("produce", self.topic, "--partitioner", "round-robin", data=b"a\nb\nc\nd\n")
        got = self.run_command("consume", self.topic, "-e", "-f", "%p")
        self.assertEqual(sorted(got), sorted(b"0011"))

    def test_light(self) -> None:
        """Help and a list of topics load nothing that takes its time to load."""
        for arguments in (["--help"], ["up", "--help"], ["stop", "--help"], ["status"], ["topics", "list"]):
            self.assertEqual(loaded_heavy(*arguments), set(), arguments)


def loaded_heavy(*arguments: str) -> set[str]:
    """Return the heavy packages that a command has loaded when it ends; it must end with 0."""
    tell = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    command = [sys.executable, "-c", tell + COMMAND[-1], *arguments]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment()
    )
    return HEAVY & set(done.stderr.split())


def next_line(stream: IO[bytes]) -> bytes:
    """The next line, if it comes in time."""
    if not select.select([stream], [], [], TIMEOUT_S)[0]:
        raise TimeoutError("no line was printed")
    return stream.readline()
