"""Whole ingestions with a decoder: new fields, dead letters, folders by their values."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as datasets

from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.spark.ingest.options import Bounds
from kafkatx.spark.ingest.table.files import LocalFiles
from kafkatx.spark.ingest.table.table import STAGING
from kafkatx.spark.ingest.tasks import task
from tests.spark.ingest.test_ingestion import IngestionCase


class DecodingTests(IngestionCase):
    """With the decoder for JSON."""

    def test_drift(self) -> None:
        """Fields that come up in the midst of a commit become columns of all of it; nothing is doubled."""
        self.topics.values = lambda n: json.dumps({"n": n, **({"late": "x"} if n > 7 else {})}).encode()
        collect, staged = self.spark.collect, list[list[str]]()

        def noted() -> list[Any]:
            staged.append(self.files.names(STAGING))
            rows: list[Any] = collect()
            return rows

        self.spark.collect = noted
        report = self.ingest(decode="json", bounds=Bounds(target_file_bytes=500))
        self.assertEqual([len(names) for names in staged], [1] * len(staged))
        rows = self.rows()
        self.assertEqual(
            Counter((row["kafka_partition"], row["n"]) for row in rows), self.all_offsets(10, 10)
        )
        self.assertEqual({row["n"] for row in rows if row["late"] == "x"}, {8, 9})
        names = [column.name for column in self.last().schema]
        self.assertEqual(names[:2], ["n", "late"])
        self.assertEqual((report.commits, report.rows, self.files.names(STAGING)), (1, 20, []))

    def test_next_run_keeps_columns(self) -> None:
        """The columns of the last commit are there from the start, and new ones come behind them."""
        self.topics.values = lambda n: b'{"b":1}' if n < 10 else b'{"a":true}'
        self.ingest(decode="json")
        jobs = len(self.spark.jobs)
        self.cluster.logs["t"] = [(0, 12), (0, 10)]
        self.ingest(decode="json")
        self.assertEqual(len(self.spark.jobs), jobs + 2)
        self.assertEqual(
            [tuple(column) for column in self.last().schema][:2], [("b", "bigint"), ("a", "boolean")]
        )
        self.cluster.logs["t"] = [(0, 13), (0, 10)]
        self.ingest(decode="json")
        self.assertEqual(len(self.spark.jobs), jobs + 3)

    def test_dead_letters(self) -> None:
        """A record that cannot be decoded is a dead letter, with all that is known of it."""
        self.topics.values = lambda n: b'{"n":1}' if n % 5 else b"{"
        report = self.ingest(decode="json")
        self.assertEqual((report.rows, report.dead), (16, 4))
        (path,) = Path(self.root, "_dead_letters").iterdir()
        found = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual(
            {(row["partition"], row["offset"]) for row in found}, {(p, n) for p in (0, 1) for n in (0, 5)}
        )
        self.assertEqual({(row["value"], row["key"], row["topic"]) for row in found}, {("ew==", "aw==", "t")})

    def test_any_folder_value(self) -> None:
        """Values that are no file names are folders all the same, or dead letters: nothing stops."""
        fine = [
            "",
            ".",
            "..",
            "/",
            "a/../../b",
            "\0",
            "\x1b[31m\n",
            "a" * 250,
            "\u00fc" * 125,
            "=",
            "%2F",
            "~ *",
        ]
        long = ["a" * 254, "\u00fc" * 127, "/" * 85, "\0" * 100, "x" * 5000]
        other: list[Any] = ["\ud800", {"x": 1}, [1], 1.5]
        values = [*fine, *long, *other, None, 5, True]
        self.cluster.logs["t"] = [(0, len(values))]
        self.topics.values = lambda n: json.dumps({"c": values[n], "n": n, "d": "x"}).encode()
        for at in (0, len(values)):  # the column is new, and then it is known
            report = self.ingest(decode="json", partition_by=("c", "date"))
            self.assertEqual((report.rows, report.dead), (len(fine) + 6, len(long) + 1), at)
            self.cluster.logs["t"] = [(0, 2 * len(values))]
            self.topics.values = lambda n: json.dumps({"c": values[n % len(values)], "n": n}).encode()
        dataset = datasets.dataset(
            [str(path) for path in Path(self.root).glob("c=*/*/*")],
            partitioning=datasets.partitioning(flavor="hive", schema=pa.schema([("c", pa.string())])),
            partition_base_dir=self.root,
        )
        found = {row["n"]: row["c"] for row in dataset.to_table(columns=["n", "c"]).to_pylist()}
        told = {n: value or None for n, value in enumerate(fine)}
        told |= {n + len(values): value for n, value in told.items()}
        self.assertEqual({n: c for n, c in found.items() if n % len(values) < len(fine)}, told)
        reasons = " ".join(path.read_text() for path in Path(self.root, "_dead_letters").iterdir())
        for said in ("makes a folder's name of 256 bytes: 255 is the most", "is no Unicode"):
            self.assertTrue(said in reasons, said)

    def test_first_folder_value(self) -> None:
        """A first record that gives the folders' column another type, name or length fixes nothing."""
        for number, first in enumerate(({"c": {"x": 1}}, {"c": 1.5}, {"C": "x"}, {"c": "y" * 300, "new": 1})):
            self.root = str(Path(self.mktemp()).resolve())
            self.files = LocalFiles(self.root)
            self.topics.values = partial(self.first_of_many, first)
            report = self.ingest(decode="json", partition_by=("c",))
            dead = 0 if number < 2 else 2  # what is no text is there as its JSON
            self.assertEqual((report.rows, report.dead), (20 - dead, dead), number)
            names = [column.name for column in self.last().schema if not column.name.startswith("kafka_")]
            self.assertEqual(names, ["c"])

    def first_of_many(self, first: Any, n: int) -> bytes:
        """One record, and then others."""
        return json.dumps({"c": "a"} if n else first).encode()

    def test_many_folder_columns(self) -> None:
        """Many columns share the length of a path."""
        by = tuple(f"c{n}" for n in range(20))
        self.topics.values = lambda n: json.dumps(dict.fromkeys(by, "x" * (90 + n))).encode()
        report = self.ingest(decode="json", partition_by=by)
        self.assertEqual((report.rows, report.dead), (18, 2))
        self.root = str(Path(self.mktemp()).resolve())
        self.files = LocalFiles(self.root)
        error = self.assertRaises(SettingError, self.ingest, decode="json", partition_by=("x" * 250,))
        self.assertIn("the name is too long for a folder's", str(error))

    def test_first_look(self) -> None:
        """The first commit of unknown columns is small, for it is decoded twice."""
        self.cluster.logs["t"] = [(0, 200_000)]
        self.topics.values = lambda n: b'{"n":1}'
        self.topics.failures += [lambda: None, lambda: None, self.stop.set]
        self.patch(
            task,
            "read_range",
            lambda client, wanted, *_: self.topics.read_range(
                client, wanted._replace(end=wanted.start + 3), False, True
            ),
        )
        self.ingest(decode="json")
        self.assertEqual(
            [(item.start, item.end) for item in self.topics.read][:3], [(0, 3), (0, 3), (100_000, 100_003)]
        )

    def test_unknown_decoder(self) -> None:
        """Before anything is written."""
        self.assertRaises(KafkaTXError, self.ingest, decode="nonsense")
        self.assertFalse(Path(self.root).exists())
