"""Tests of kafkatx.cli.main: exit codes and what a user's mistake looks like."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx import __version__
from kafkatx.cli import main
from kafkatx.cli.cluster import topics
from kafkatx.cli.messages import consume, partition_copy, produce
from kafkatx.cli.options import cluster
from kafkatx.errors import KafkaTXError
from kafkatx.records.builder import build_values
from tests.blocking.fakes import FakeCluster, Log


class Terminal(io.TextIOWrapper):
    """A text stream over bytes that can pretend to be a terminal."""

    def __init__(self, tty: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self.tty = tty

    def isatty(self) -> bool:
        """As it was made."""
        return self.tty

    def text(self) -> str:
        """All that was written."""
        buffer: Any = self.buffer
        return str(buffer.getvalue().decode())


class CommandCase(SynchronousTestCase):
    """Runs commands against a cluster in memory."""

    def setUp(self) -> None:
        """Two topics, and stdout and stderr in memory."""
        self.fake = FakeCluster({"t": [Log(), Log()], "__internal": [Log()]})
        for module in (topics, produce, consume):
            self.patch(module, "connect", lambda bootstrap, timeout: self.fake.client())
        self.use_streams()

    def use_streams(self, tty: bool = False) -> None:
        """Make stdout and stderr new, as terminals or not."""
        self.out, self.err = Terminal(tty), Terminal(tty)
        self.patch(sys, "stdout", self.out)
        self.patch(sys, "stderr", self.err)

    def run_command(self, *arguments: str) -> int:
        """The exit code of a command line."""
        return main.main(arguments)


class MainTests(CommandCase):
    def test_version_and_help(self) -> None:
        """Both are answered on stdout with exit code 0."""
        self.assertEqual(self.run_command("--version"), 0)
        self.assertEqual(self.out.text(), f"kafkatx {__version__}\n")
        for command in ([], ["topics"], ["topics", "create"], ["produce"], ["consume"]):
            self.assertEqual(self.run_command(*command, "--help"), 0)
        self.assertIn("%T timestamp in ms", self.out.text())

    def test_usage(self) -> None:
        """A wrong command line is exit code 2, with the reason on stderr."""
        for arguments, reason in (
            (["nonsense"], "nonsense"),
            (["consume", "t", "-o", "x"], "give beginning, end"),
            (["consume", "t", "-f", "%z"], "'%z' is unknown"),
            (["consume", "t", "-J", "-f", "%s"], "exclude each other"),
            (["consume", "t", "-p", "7"], "has no partition 7: it has 0 to 1"),
            (["topics", "create", "x", "-c", "nope"], "give NAME=VALUE"),
            (["topics", "delete", "t"], "give --yes"),
            (["produce", "t", "-z", "rar"], "rar"),
            (["produce", "t", "/does/not/exist"], "does not exist"),
            (["produce", "t", "-K", ""], "it is empty"),
        ):
            self.assertEqual(self.run_command(*arguments), 2, arguments)
            self.assertIn(reason, self.err.text())
        self.assertEqual(self.out.text(), "")

    def test_one_line(self) -> None:
        """An error is exit code 1 and exactly one line on stderr."""
        self.fake.down = {1}
        for arguments in (["topics", "list"], ["consume", "t"]):
            self.use_streams()
            self.assertEqual(self.run_command(*arguments), 1)
            self.assertEqual(self.err.text(), "kafkatx: no broker answers at broker1:9092\n")

    def test_unknown_topic(self) -> None:
        """A topic that is not there is named, with what to do."""
        self.assertEqual(self.run_command("consume", "nope"), 1)
        self.assertIn("there is no topic 'nope': create it", self.err.text())
        self.assertNotIn("nope", self.fake.topics)

    def test_multi_line_error(self) -> None:
        """A message of several lines is printed as one."""

        def fail(*arguments: object) -> None:
            raise KafkaTXError("one\n  two")

        self.patch(topics, "connect", fail)
        self.assertEqual(self.run_command("topics", "list"), 1)
        self.assertEqual(self.err.text(), "kafkatx: one two\n")

    def test_interrupted(self) -> None:
        """Ctrl-C is exit code 130 without a traceback."""

        def interrupt(*arguments: object) -> None:
            raise KeyboardInterrupt

        self.patch(topics, "connect", interrupt)
        self.assertEqual(self.run_command("topics", "list"), 130)
        self.assertNotIn("Traceback", self.err.text())

    def test_bug(self) -> None:
        """An error of our own is not hidden."""

        def fail(*arguments: object) -> None:
            raise ZeroDivisionError

        self.patch(topics, "connect", fail)
        self.assertRaises(ZeroDivisionError, self.run_command, "topics", "list")


class OptionsTests(SynchronousTestCase):
    def test_pairs(self) -> None:
        """A value may hold equals signs and be empty."""
        self.assertEqual(cluster.pairs("-c", ["a=b=c", "d="]), [("a", "b=c"), ("d", "")])


class TopicsTests(CommandCase):
    def test_create(self) -> None:
        """A topic is created; once more is an error, unless that is allowed."""
        self.assertEqual(self.run_command("topics", "create", "new", "-p", "3"), 0)
        self.assertEqual(len(self.fake.topics["new"]), 3)
        self.assertEqual(self.run_command("topics", "create", "new"), 1)
        self.assertIn("topic 'new': topic already exists", self.err.text())
        self.assertEqual(self.run_command("topics", "create", "new", "--if-not-exists"), 0)

    def test_list(self) -> None:
        """For another program: a name a line, or JSON; internal topics only if asked for."""
        self.run_command("topics", "list")
        self.assertEqual(self.out.text(), "t\n")
        self.use_streams()
        self.run_command("topics", "list", "--internal", "--json")
        listed = [json.loads(line) for line in self.out.text().splitlines()]
        self.assertEqual(
            [(t["topic"], t["partitions"], t["internal"]) for t in listed],
            [("__internal", 1, True), ("t", 2, False)],
        )

    def test_list_at_a_terminal(self) -> None:
        """A person gets a table with headings."""
        self.use_streams(tty=True)
        self.run_command("topics", "list")
        self.assertIn("partitions", self.out.text())
        self.assertIn("t ", self.out.text())

    def test_describe(self) -> None:
        """A line per partition divided by tabs, then the topic's own settings."""
        self.fake.topics["t"][1].end = 5
        self.run_command("topics", "describe", "t")
        self.assertEqual(self.out.text(), "0\t1\t-1\t1\t1\t0\t0\n1\t1\t-1\t1\t1\t0\t5\nretention.ms=5\n")
        self.use_streams()
        self.run_command("topics", "describe", "t", "--json")
        self.assertEqual(json.loads(self.out.text())["partitions"][1]["latest"], 5)

    def test_describe_at_a_terminal(self) -> None:
        """A person gets tables; brackets in a value are not taken for markup."""
        self.use_streams(tty=True)
        self.run_command("topics", "describe", "t")
        self.assertIn("in sync", self.out.text())
        self.assertIn("retention.ms", self.out.text())

    def test_delete(self) -> None:
        """All topics named are deleted; one that is not there is an error."""
        self.assertEqual(self.run_command("topics", "delete", "t", "-y"), 0)
        self.assertNotIn("t", self.fake.topics)
        self.assertEqual(self.run_command("topics", "delete", "t", "-y"), 1)
        self.assertIn("there is no topic 't'\n", self.err.text())


class ConsumeTests(CommandCase):
    def setUp(self) -> None:
        """Three messages in partition 0 and two in partition 1."""
        super().setUp()
        self.fake.topics["t"][0].append(build_values([b"a", b"b\xff", b"c"], 1))
        self.fake.topics["t"][1].append(build_values([b"x", b"y"], 1))

    def printed(self, *arguments: str) -> bytes:
        """What ``consume t`` prints; it must end with 0."""
        self.use_streams()
        self.assertEqual(self.run_command("consume", "t", *arguments), 0)
        buffer: Any = self.out.buffer
        return bytes(buffer.getvalue())

    def test_all(self) -> None:
        """All partitions, byte for byte."""
        self.assertEqual(self.printed("-e"), b"a\nb\xff\nc\nx\ny\n")

    def test_one_partition(self) -> None:
        """Only the partition asked for."""
        self.assertEqual(self.printed("-e", "-p", "1"), b"x\ny\n")

    def test_count(self) -> None:
        """After the count it stops, also without -e, also in the middle of a batch."""
        self.assertEqual(self.printed("-c", "2"), b"a\nb\xff\n")
        self.assertEqual(self.printed("-c", "4"), b"a\nb\xff\nc\nx\n")
        self.assertEqual(self.printed("-c", "0"), b"")

    def test_positions(self) -> None:
        """Offsets and the last messages; the end alone is nothing."""
        self.assertEqual(self.printed("-e", "-o", "-1"), b"c\ny\n")
        self.assertEqual(self.printed("-e", "-o", "1", "-p", "0"), b"b\xff\nc\n")
        self.assertEqual(self.printed("-e", "-o", "end"), b"")
        self.assertEqual(self.printed("-o", "e@5"), b"a\nx\n")  # the fake answers offset 1 for any time

    def test_formats(self) -> None:
        """Key and delimiter, format letters, JSON."""
        self.assertEqual(self.printed("-p", "1", "-e", "-K", "%", "-D", r"\0x;"), b"%x0x;%y0x;")
        self.assertEqual(self.printed("-p", "1", "-e", "-f", r"%p:%o\n"), b"1:0\n1:1\n")
        rows = [json.loads(line) for line in self.printed("-p", "1", "-e", "-J").splitlines()]
        self.assertEqual([(row["payload"], row["broker"]) for row in rows], [("x", 1), ("y", 1)])

    def test_large_output(self) -> None:
        """Output beyond the buffer is written in order and whole."""
        self.patch(partition_copy, "WRITE_BYTES", 3)
        for _ in range(5):
            self.fake.topics["t"][1].append(build_values([b"z"] * 3, 1))
        self.assertEqual(self.printed("-e", "-p", "1"), b"x\ny\n" + b"z\n" * 15)
