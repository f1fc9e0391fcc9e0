"""Tests of kafkatx.audit.files and tables."""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime, timezone
from typing import Any

import pyarrow
from pyarrow import parquet
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.audit.files import BadTable, files
from kafkatx.audit.tables import COLUMNS, count_table, folder_values
from kafkatx.spark.ingest.table.columns import Column
from kafkatx.spark.ingest.table.manifest import Manifest

Record = tuple[str, int, int, "int | None"]
"""Topic, partition, offset, time in ms."""

SOME: list[Record] = [("t", 0, 0, 500), ("t", 0, 1, 1500), ("u", 1, 0, 1500), ("t", 1, 0, None)]
EMPTY = Manifest(1, 0, "parquet", ("hour",), None, (Column("n", "int"),), {}, {}, {}, ())
COUNTS = {("t", 0): (1, 1), ("t", 1000): (1, 1), ("u", 1000): (1, 1), ("t", -1000): (1, 1)}


class TableTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """An empty directory."""
        self.directory = os.path.abspath(self.mktemp())
        os.makedirs(self.directory)

    def path(self, name: str) -> str:
        """A file's place; its folder is made."""
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def columns(self, records: list[Record], prefix: str = "") -> dict[str, Any]:
        """The columns as Spark has them, and one of another's."""
        topics, partitions, offsets, times_ms = zip(*records, strict=True)
        times = [None if ms is None else ms * 1000 for ms in times_ms]
        return {
            "value": pyarrow.array([b"v"] * len(records)),
            prefix + "topic": pyarrow.array(topics),
            prefix + "partition": pyarrow.array(partitions, pyarrow.int32()),
            prefix + "offset": pyarrow.array(offsets, pyarrow.int64()),
            prefix + "timestamp": pyarrow.array(times, pyarrow.timestamp("us", "UTC")),
        }

    def write(self, name: str, records: list[Record], prefix: str = "") -> None:
        """A Parquet file."""
        parquet.write_table(pyarrow.table(self.columns(records, prefix)), self.path(name))

    def write_json(self, name: str, records: list[Record], prefix: str = "") -> None:
        """A file of JSON lines, as Spark writes them: without nulls."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            for topic, partition, offset, time_ms in records:
                row: dict[str, Any] = {"odd": None if offset else 1, prefix + "topic": topic}
                row |= {prefix + "partition": partition, prefix + "offset": offset}
                if time_ms is not None:
                    time = datetime.fromtimestamp(time_ms / 1000, timezone.utc)
                    row[prefix + "timestamp"] = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
                file.write(json.dumps(row) + "\n")

    def counts(self, *topics: str) -> dict[tuple[str, int], tuple[int, int]]:
        """Found and distinct by topic and window."""
        found = count_table(self.directory, 1000, topics).counts()
        return {key: (count.found, count.distinct) for key, count in found.items()}

    def refused(self) -> str:
        """Return the error of a table that cannot be read."""
        return str(self.assertRaises(BadTable, count_table, self.directory, 1000))


class FolderTests(TableTestCase):
    def test_values(self) -> None:
        """Topic and partition are taken from the names of folders, but no other name, nor the file's."""
        for path, found in (
            ("a/topic=x/date=2015-05-19/f", {"topic": "x"}),
            ("kafka_topic=a%2Eb/kafka_partition=7/topic", {"kafka_topic": "a.b", "kafka_partition": 7}),
            ("partition=x/partition/hour=7/topic=f", {}),
        ):
            self.assertEqual(folder_values(path), found, path)

    def test_formats(self) -> None:
        """A table that is partitioned by topic and partition lacks these columns in its files."""
        left_out = ["topic", "partition"]
        for (topic, partition), records in (
            (("t", 0), SOME[:2]),
            (("u", 1), SOME[2:3]),
            (("t", 1), SOME[3:]),
        ):
            folder = f"topic={topic}/partition={partition}"
            table = pyarrow.table(self.columns(records)).drop_columns(left_out)
            parquet.write_table(table, self.path(f"parquet/{folder}/part.parquet"))
            self.write_json("whole.json", records)
            with open(self.path("whole.json"), encoding="utf-8") as whole:
                rows = [json.loads(line) for line in whole]
            os.remove(self.path("whole.json"))
            with open(self.path(f"json/{folder}/part.json"), "w", encoding="utf-8") as file:
                for row in rows:
                    file.write(
                        json.dumps({name: v for name, v in row.items() if name not in left_out}) + "\n"
                    )
        for format in ("parquet", "json"):
            found = count_table(os.path.join(self.directory, format), 1000).counts()
            self.assertEqual({key: (one.found, one.distinct) for key, one in found.items()}, COUNTS, format)

    def test_avro(self) -> None:
        """Avro files are read likewise."""
        import fastavro

        fields = [{"name": name, "type": "long"} for name in ("offset", "timestamp")]
        schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": fields})
        with open(self.path("topic=t/partition=0/part.avro"), "wb") as file:
            fastavro.writer(file, schema, [{"offset": 0, "timestamp": 500}, {"offset": 1, "timestamp": 1500}])
        self.assertEqual(self.counts(), {("t", 0): (1, 1), ("t", 1000): (1, 1)})


class FormatTests(TableTestCase):
    def test_parquet(self) -> None:
        """Parquet, with the source's columns, in folders that are named after values of columns."""
        self.write("topic=x/date=2015-05-19/part-0.parquet", SOME)
        self.assertEqual(self.counts(), COUNTS)

    def test_decoded(self) -> None:
        """Beside a decoder's columns ours have kafka_ before them; its own of these names are not taken."""
        columns = self.columns(SOME, "kafka_")
        columns |= {name: pyarrow.array(["own"] * 4) for name in COLUMNS}
        parquet.write_table(pyarrow.table(columns), self.path("part-0.parquet"))
        self.assertEqual(self.counts(), COUNTS)

    def test_json(self) -> None:
        """JSON lines; a file may be empty, and a column change its type."""
        for prefix in ("", "kafka_"):
            self.write_json(f"{prefix}part.json", SOME, prefix)
        self.write_json("empty.json", [])
        self.assertEqual(self.counts(), {key: (2 * found, 1) for key, (found, _) in COUNTS.items()})

    def test_avro(self) -> None:
        """Avro, with Avro's own times."""
        import fastavro

        time = {"type": "long", "logicalType": "timestamp-micros"}
        fields = [
            {"name": "topic", "type": "string"},
            {"name": "partition", "type": "int"},
            {"name": "offset", "type": "long"},
            {"name": "timestamp", "type": ["null", time]},
        ]
        schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": fields})
        rows = [
            {"topic": t, "partition": p, "offset": o, "timestamp": None if ms is None else ms * 1000}
            for t, p, o, ms in SOME
        ]
        with open(self.path("part.avro"), "wb") as file:
            fastavro.writer(file, schema, rows)
        self.assertEqual(self.counts(), COUNTS)

    def test_topics(self) -> None:
        """Only the topics that are asked for."""
        self.write("part.parquet", SOME)
        self.assertEqual(self.counts("u"), {("u", 1000): (1, 1)})

    def test_doubled(self) -> None:
        """A copy of a file doubles its records."""
        self.write("a.parquet", SOME)
        shutil.copy(self.path("a.parquet"), self.path("sub/b.parquet"))
        self.assertEqual(self.counts("u"), {("u", 1000): (2, 1)})

    def test_refused(self) -> None:
        """Other files are refused by name, and so are tables on other machines."""
        self.assertIn("there are no parquet, json, avro files", self.refused())
        parquet.write_table(pyarrow.table({"topic": ["t"]}), self.path("part.parquet"))
        self.assertIn("part.parquet: it has no columns topic, partition, offset, timestamp", self.refused())
        for name in ("part.parquet", "part.json", "part.avro"):
            shutil.rmtree(self.directory)
            with open(self.path(name), "wb") as file:
                file.write(b"not that")
            self.assertIn(name, self.refused())
        self.assertIn("spark.audit", str(self.assertRaises(BadTable, files, "hdfs://host/table")))
