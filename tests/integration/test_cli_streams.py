"""The command ``kafkatx`` with streams that are closed, full or a terminal, and odd arguments."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from tests.integration.clients import new_topic
from tests.integration.test_cli import COMMAND, TIMEOUT_S, environment

EVIL = "e\x1b]0;title\x07\x9b7m\u202e"
NOT_UTF8 = b"a\xff\xfe"


class StreamCase(SynchronousTestCase):
    """Runs commands by a shell, which opens and closes streams."""

    def shell(self, redirected: str, *arguments: str | bytes, data: bytes = b"") -> tuple[int, str]:
        """The exit code and stderr of a command; *redirected* stands behind it."""
        line = ["/bin/sh", "-c", f'"$@" {redirected}', "sh", *COMMAND, *arguments]
        done = subprocess.run(line, input=data, capture_output=True, timeout=TIMEOUT_S, env=environment())
        said = done.stderr.decode()
        self.assertNotIn("Traceback", said)
        self.assertNotIn("Exception ignored", said)
        return done.returncode, said


class ClosedTests(StreamCase):
    def test_output(self) -> None:
        """A command that has something to print fails in one line; one that has not does its work."""
        topic = new_topic()
        self.assertEqual(self.shell(">&-", "topics", "create", topic)[0], 0)
        for arguments in (
            ("topics", "list"),
            ("topics", "list", "--json"),
            ("topics", "describe", topic),
            ("--version",),
            ("topics", "--help"),
        ):
            self.assertEqual(
                self.shell(">&-", *arguments), (1, "kafkatx: standard output is closed\n"), arguments
            )

    def test_output_of_records(self) -> None:
        """Records that cannot be printed are an error, too."""
        topic = new_topic()
        self.shell("", "produce", topic, "-q", data=b"x\n")
        self.assertEqual(
            self.shell(">&-", "consume", topic, "-e"), (1, "kafkatx: standard output is closed\n")
        )

    def test_input(self) -> None:
        """Nothing can be read: nothing is written, and that is said."""
        self.assertEqual(
            self.shell("<&-", "produce", new_topic()), (1, "kafkatx: standard input is closed\n")
        )

    def test_error(self) -> None:
        """The command does not fail if its messages cannot be read; an error is still reported."""
        self.assertEqual(self.shell("2>&-", "topics", "create", new_topic()), (0, ""))
        self.assertEqual(self.shell("2>&-", "topics", "describe", new_topic()), (1, ""))
        self.assertEqual(self.shell("<&- >&- 2>&-", "topics", "list"), (1, ""))

    def test_full(self) -> None:
        """A full disk is an error in one line."""
        for arguments in (("--version",), ("topics", "list")):
            code, said = self.shell(">/dev/full", *arguments)
            self.assertEqual((code, said), (1, "kafkatx: [Errno 28] No space left on device\n"))

    def test_nobody_listens(self) -> None:
        """An error that cannot be said is an error all the same."""
        program = f"import os, sys; sys.excepthook = lambda *_: os._exit(99); {COMMAND[-1]}"
        for arguments in (("nonsense",), ("topics", "describe", new_topic())):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(
                    [sys.executable, "-c", program, *arguments],
                    stderr=full,
                    env=environment(),
                    timeout=TIMEOUT_S,
                )
            self.assertEqual(done.returncode, 1)

    def test_reader_gone(self) -> None:
        """A reader that has gone, as `head` does, is no error of the command."""
        for _ in range(3):
            code, said = self.shell("| true", "topics", "list")
            self.assertEqual((code, said), (0, ""))


class ArgumentTests(StreamCase):
    def test_not_utf8(self) -> None:
        """Names that are not UTF-8 are refused in one line, with what they were."""
        for arguments in (
            ("topics", "create", NOT_UTF8),
            ("topics", "describe", NOT_UTF8),
            ("topics", "delete", NOT_UTF8, "-y"),
            ("produce", NOT_UTF8),
            ("consume", NOT_UTF8, "-e"),
            ("consume", "t", "-G", NOT_UTF8, "-e"),
            ("tail", NOT_UTF8),
            ("groups", "describe", NOT_UTF8),
            ("groups", "delete", NOT_UTF8, "-y"),
            ("groups", "reset", NOT_UTF8, "--to-latest"),
            ("configs", "describe", "-t", NOT_UTF8),
            ("configs", "alter", "-t", "t", "--set", b"retention.ms=" + NOT_UTF8),
            ("configs", "alter", "--client-id", NOT_UTF8, "--set", "producer_byte_rate=1"),
            ("log", "dump", NOT_UTF8),
            ("audit", "-t", NOT_UTF8),
            ("audit", "--ingested", NOT_UTF8),
            ("topics", "list", "-b", NOT_UTF8 + b":9092"),
            ("topics", "list", "-b", "a" * 80 + ":9092"),
            (NOT_UTF8,),
        ):
            code, said = self.shell("</dev/null", *arguments)
            self.assertIn(code, (1, 2), arguments)
            self.assertLessEqual(said.count("\n"), 4, said)

    def test_bytes_that_may_be_anything(self) -> None:
        """Headers and file names are bytes."""
        topic = new_topic()
        path = os.fsencode(self.mktemp()) + NOT_UTF8
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x\n")
        self.assertEqual(self.shell("", "produce", topic, path, "-q", "-H", b"h=" + NOT_UTF8), (0, ""))


class InterruptTests(StreamCase):
    def test_while_importing(self) -> None:
        """Ctrl-C before there is anything to interrupt ends the process, without a word."""
        for module in (
            "kafkatx.cli.root",
            "click",
            "kafkatx.cli.groups.groups",
            "kafkatx.cli.process.streams",
        ):
            program = (
                "import os, signal, sys\n"
                "class Finder:\n"
                "    def find_spec(self, name, path=None, target=None):\n"
                f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
                "sys.meta_path.insert(0, Finder())\n"
                "from kafkatx.cli.main import main\n"
                "sys.exit(main())\n"
            )
            done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (-signal.SIGINT, b"", b""), module)


class TerminalTests(StreamCase):
    """With a pseudo-terminal for stdout and stderr."""

    def at_terminal(self, *arguments: str) -> str:
        """Run the command at a terminal and return what it prints."""
        reader, writer = pty.openpty()
        self.addCleanup(os.close, reader)
        variables = {**environment(), "TERM": "dumb", "COLUMNS": "300"}
        process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, env=variables
        )
        os.close(writer)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        found: Any = bytearray()
        try:
            while data := os.read(reader, 65536):
                found += data
        except OSError:  # EIO: the other end is closed
            pass
        self.assertNotIn(b"Traceback", found)
        return bytes(found).decode()

    def test_nothing_unsafe(self) -> None:
        """Records, groups and errors are text at a terminal, and all commands know one when they see it."""
        topic, group = new_topic(), f"{new_topic()}{EVIL}"
        self.shell("", "produce", topic, "-q", "-K", ":", data=f"{EVIL}:{EVIL}\n".encode())
        for arguments in (
            ("consume", topic, "-e"),
            ("consume", topic, "-e", "-K", ":"),
            ("consume", topic, "-e", "-J"),
            ("consume", topic, "-e", "-G", group),
            ("tail", topic, "-n", "1", "-c", "1"),
            ("tail", topic, "-n", "1", "-c", "1", "-J"),
            ("groups", "list"),
            ("groups", "describe", group),
            ("groups", "describe", group, "--json"),
            ("topics", "describe", EVIL),
            ("topics", "create", EVIL),
            ("groups", "delete", group, "-y"),
        ):
            text = self.at_terminal(*arguments)
            self.assertIn("title", text, arguments)
            for unsafe in ("\x1b]", "\x07", "\x9b", "\u202e"):
                self.assertNotIn(unsafe, text, arguments)
