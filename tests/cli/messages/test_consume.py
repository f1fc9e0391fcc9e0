"""Tests of kafkatx.cli.messages.consume and the copy of partitions."""

from __future__ import annotations

import json
from typing import Any

from kafkatx.cli.messages import partition_copy
from kafkatx.records.builder import build_values
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase


class ConsumeTests(CommandCase):
    def setUp(self) -> None:
        """Three messages in partition 0 and two in partition 1."""
        super().setUp()
        self.fake.topics["t"][0].append(build_values([b"a", b"b\xff", b"c"], 1))
        self.fake.topics["t"][1].append(build_values([b"x", b"y"], 1))

    def printed(self, *arguments: str) -> bytes:
        """Return the output of ``consume t``, which must end with 0."""
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

    def test_kafkas_options(self) -> None:
        """The options of kafka-console-consumer.sh mean the same."""
        self.use_streams()
        arguments = "--topic t --from-beginning --max-messages 1 --partition 1 --property print.offset=true"
        self.assertEqual(self.run_command("consume", *arguments.split()), 0)
        self.assertEqual(self.out.text(), "Offset:0\tx\n")

    def test_hints(self) -> None:
        """At a terminal the default position and an empty topic are explained, elsewhere not."""
        self.fake.topics["empty"] = [Log()]
        for tty in (True, False):
            self.use_streams(tty)
            self.run_command("consume", "empty", "-e")
            self.assertEqual("no messages in empty" in self.err.text(), tty)

    def test_wrong_property(self) -> None:
        """Unknown properties are refused, and those with --json."""
        for arguments in (["--property", "a=b"], ["--property", "print.key=true", "-J"], ["--property", "x"]):
            self.assertEqual(self.run_command("consume", "t", *arguments), 2)
