"""Tests of kafkatx.cli.cluster.records."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest import mock

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.cluster import records
from kafkatx.cli.cluster.records import parse_offsets
from kafkatx.types import TopicPartition
from tests.blocking.fakes import Log
from tests.cli.cluster.fakes import FakeDisks
from tests.cli.command_case import CommandCase, Terminal


class DeleteTests(CommandCase):
    def setUp(self) -> None:
        """Two partitions with the offsets 0 to 9."""
        super().setUp()
        self.fake = FakeDisks({"t": [Log(end=10), Log(end=10)]})
        self.patch(records, "connect", lambda bootstrap, timeout: self.fake.client())

    def delete(self, line: str) -> int:
        """Return the exit code of ``kafkatx records delete``."""
        self.use_streams()
        return self.run_command("records", "delete", *line.split())

    def starts(self) -> list[int]:
        """Return where the partitions start."""
        return [log.start for log in self.fake.topics["t"]]

    def test_before(self) -> None:
        """The records before the offset go; the new start is printed."""
        self.assertEqual(self.delete("-t t -p 1 --before 4 --yes"), 0)
        self.assertEqual((self.starts(), self.out.text()), ([0, 4], "t\t1\t4\n"))

    def test_end(self) -> None:
        """All records of all partitions of a topic."""
        self.assertEqual(self.delete("-t t --before end --yes --json"), 0)
        self.assertEqual(self.starts(), [10, 10])
        self.assertEqual(
            json.loads(self.out.text().splitlines()[1]), {"topic": "t", "partition": 1, "earliest": 10}
        )

    def test_file(self) -> None:
        """A file of kafka-delete-records.sh, by either option."""
        path = Path(self.mktemp())
        path.write_text('{"partitions": [{"topic": "t", "partition": 0, "offset": 3}], "version": 1}')
        self.assertEqual(self.delete(f"--file {path} --yes"), 0)
        path.write_text('{"partitions": [{"topic": "t", "partition": 1, "offset": -1}]}')
        self.assertEqual(self.delete(f"--offset-json-file {path} --yes"), 0)
        self.assertEqual(self.starts(), [3, 10])

    def test_one_fails(self) -> None:
        """An offset beyond the end is told of with the end; the other partitions are done."""
        self.assertEqual(self.delete("-t t -p 0 -p 1 --before 11 --yes"), 1)
        self.assertIn("t [0] ends at offset 10: 11 is beyond it", self.err.text())
        self.fake.topics["t"][0].end = 20
        self.assertEqual(self.delete("-t t -p 0 -p 1 --before 11 --yes"), 1)
        self.assertEqual(self.starts(), [11, 0])

    def test_asked(self) -> None:
        """At a terminal it asks, and a no changes nothing; elsewhere --yes is needed."""
        self.patch(sys, "stdin", Terminal())
        self.assertEqual(self.delete("-t t -p 0 --before 3"), 2)
        self.patch(sys, "stdin", Terminal(tty=True))
        with mock.patch.object(click, "confirm", side_effect=click.Abort) as asked:
            self.assertEqual(self.delete("-t t -p 0 --before 3"), 130)
        self.assertEqual(asked.call_args[0][0], "Delete the records of t [0] before offset 3?")
        self.assertEqual(self.starts(), [0, 0])

    def test_many(self) -> None:
        """A long question names some partitions and counts the others."""
        question = records._question({TopicPartition("t", n): -1 for n in range(7)})
        self.assertTrue(question.endswith("t [4] (all) and 2 other partitions?"), question)

    def test_usage(self) -> None:
        """Options that do not go together are refused."""
        for line in (
            "",
            "-t t",
            "--before 3",
            "-t t --before 3 --yes",
            "-t t -p 0 --before x",
            "--before end",
        ):
            self.assertEqual(self.delete(line), 2, line)


class FileTests(SynchronousTestCase):
    def test_wrong(self) -> None:
        """Another form, other types, other versions and a partition that is there twice are refused."""
        entry = '{"topic": "t", "partition": 0, "offset": 1}'
        for text in (
            "",
            "[]",
            "{}",
            "3",
            '{"partitions": []}',
            '{"partitions": [3]}',
            '{"partitions": {}}',
            '{"partitions": [{"topic": "t"}]}',
            '{"partitions": [{"topic": 3, "partition": 0, "offset": 1}]}',
            '{"partitions": [{"topic": "t", "partition": true, "offset": 1}]}',
            '{"partitions": [{"topic": "t", "partition": 0, "offset": 1.5}]}',
            '{"partitions": [{"topic": "t", "partition": 0, "offset": 9223372036854775808}]}',
            f'{{"version": 2, "partitions": [{entry}]}}',
            f'{{"partitions": [{entry}, {entry}]}}',
            "[" * 100_000,
        ):
            self.assertRaises(click.UsageError, parse_offsets, text)
