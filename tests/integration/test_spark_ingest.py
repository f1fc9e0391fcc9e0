"""Ingestion with a real broker, a real Spark and real kills."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.spark.ingest import IngestOptions, TableDamaged, ingest, read_table
from kafkatx.spark.ingest.table.files import LocalFiles
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Subscribe
from tests.integration.access_log import real_log, small_log
from tests.integration.clients import new_topic
from tests.integration.shared import shared_broker
from tests.integration.spark import ROOT, shared_spark
from tests.spark.ingest.fakes import FakeSpark

PARTITIONS = 3
DEADLINE_S = 600.0
SMALL_TASKS = {"target_file_bytes": 200_000}


def log_lines() -> list[bytes]:
    """Thousands of lines of a web server: the real ones where they are there, else few over and over."""
    return (real_log() or 20 * small_log()[0]).splitlines()


def produced(lines: Sequence[bytes]) -> str:
    """A new topic with a record for each line, its first word the key."""
    topic = new_topic()
    with Cluster(shared_broker().bootstrap) as cluster:
        Admin(cluster).create_topic(topic, PARTITIONS)
        produce(cluster, topic, lines)
    return topic


def produce(cluster: Cluster, topic: str, lines: Sequence[bytes]) -> None:
    """Add records, the n-th one to partition n."""
    for partition in range(PARTITIONS):
        with Writer(cluster, topic, compression="lz4") as writer:
            for line in lines[partition::PARTITIONS]:
                writer.send(line, key=line.split(b" ")[0], partition=partition)


def options(topic: str, to: str, **given: Any) -> IngestOptions:
    """Return the options for one topic."""
    return IngestOptions(ClientSettings(shared_broker().bootstrap), Subscribe((topic,)), to, **given)


def visible(to: str) -> Iterator[dict[str, Any]]:
    """Rows of every file that a reader finds, with the number of their partition if a folder tells it."""
    for path in sorted(Path(to).glob("**/*.parquet")):
        parts = path.relative_to(to).parts
        if not any(part[0] in "._" for part in parts):
            numbers = [int(part[10:]) for part in parts if part.startswith("partition=")]
            named = {"partition": numbers[0]} if numbers else {}
            yield from ({**row, **named} for row in parquet.ParquetFile(path).read().to_pylist())


def driver(**given: Any) -> int:
    """Run a driver in a process of its own; its exit status."""
    command = [sys.executable, "-m", "tests.integration.ingest_driver", json.dumps(given)]
    return subprocess.run(command, cwd=ROOT, timeout=DEADLINE_S).returncode


class IngestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """A directory that is not there yet."""
        self.to = str(Path(self.mktemp()).resolve())

    def check(self, lines: Sequence[bytes]) -> None:
        """Each record is there once: by its place in the log, and by what is in it."""
        rows = list(visible(self.to))
        places = Counter((row["partition"], row["offset"]) for row in rows)
        self.assertEqual([place for place, count in places.items() if count > 1], [])
        self.assertEqual(
            Counter((row["key"], row["value"]) for row in rows),
            Counter((line.split(b" ")[0], line) for line in lines),
        )

    def check_part(self, lines: Sequence[bytes]) -> int:
        """Check that every row is there once; return the number of rows."""
        rows = list(visible(self.to))
        places = Counter((row["partition"], row["offset"]) for row in rows)
        self.assertEqual(len(places), len(rows))
        self.assertEqual(Counter(row["value"] for row in rows) - Counter(lines), Counter())
        return len(rows)


class SparkTests(IngestCase):
    def test_every_reader(self) -> None:
        """A log comes out as it went in, in folders by hour: by read_table, by Spark's reader, by pyarrow."""
        lines = log_lines()
        topic = produced(lines)
        spark = shared_spark()
        given = options(topic, self.to, partition_by=("date", "hour"))
        report = ingest(spark, given)
        self.assertEqual((report.rows, report.commits), (len(lines), 1))
        self.check(lines)
        for frame in (read_table(spark, self.to), spark.read.parquet(self.to)):
            self.assertEqual(
                dict(frame.dtypes),
                {
                    "key": "binary",
                    "value": "binary",
                    "topic": "string",
                    "partition": "int",
                    "offset": "bigint",
                    "timestamp": "timestamp",
                    "timestampType": "int",
                    "date": "date",
                    "hour": "int",
                },
            )
            self.assertEqual(
                frame.where("hour = hour(timestamp) AND date = to_date(timestamp)").count(), len(lines)
            )
        self.assertEqual(ingest(spark, given).commits, 0)

    def test_odd_folders(self) -> None:
        """Values that are no file names come back through Spark; those that are too long are dead letters."""
        values = [
            "\0",
            "..",
            "/",
            "a/../b",
            "\x1b[2J\n",
            "%00",
            "{a,b}[c]*?",
            "=",
            "x" * 253,
            "\u00fc" * 126,
            "",
            None,
        ]
        long = ["x" * 254, "\0" * 100]
        lines = [json.dumps({"c": value, "n": n}).encode() for n, value in enumerate([*values, *long])]
        spark = shared_spark()
        given = options(produced(lines), self.to, decode="json", partition_by=("c",))
        report = ingest(spark, given)
        self.assertEqual((report.rows, report.dead), (len(values), len(long)))
        expected = {n: value or None for n, value in enumerate(values)}
        for frame in (read_table(spark, self.to), spark.read.parquet(self.to)):
            self.assertEqual({row["n"]: row["c"] for row in frame.collect()}, expected)
        self.assertEqual(ingest(spark, given).commits, 0)

    def test_json(self) -> None:
        """JSON lines come back through Spark's own reader, bytes and times as they were."""
        lines = [b"\x00\xff %d" % n for n in range(50)]
        topic = produced(lines)
        spark = shared_spark()
        ingest(spark, options(topic, self.to, format="json", partition_by=("partition",)))
        frame = read_table(spark, self.to)
        self.assertEqual(Counter(bytes(row.value) for row in frame.collect()), Counter(lines))
        source = spark.read.format("kafkatx").option("subscribe", topic)
        source = source.option("kafka.bootstrap.servers", shared_broker().bootstrap).load()
        columns = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
        self.assertEqual(frame.select(*columns).exceptAll(source.select(*columns)).count(), 0)

    def test_between_commit_and_publishing(self) -> None:
        """read_table has all of a commit whose files are not in place yet."""
        lines = log_lines()[:300]
        topic = produced(lines[:200])
        spark = shared_spark()
        given = options(topic, self.to, partition_by=("date",))
        ingest(spark, given)
        with Cluster(shared_broker().bootstrap) as cluster:
            produce(cluster, topic, lines[200:])
        move = LocalFiles.move
        self.patch(LocalFiles, "move", lambda *_: 1 / 0)
        self.assertRaises(ZeroDivisionError, ingest, spark, given)
        self.assertEqual((self.check_part(lines), read_table(spark, self.to).count()), (200, 300))
        self.patch(LocalFiles, "move", move)
        ingest(spark, given)
        self.check(lines)
        self.assertEqual(read_table(spark, self.to).distinct().count(), 300)
        next(Path(self.to).glob("date=*/*.parquet")).unlink()
        self.assertRaises(TableDamaged, read_table, spark, self.to)
        self.assertIn(read_table(spark, self.to, ignore_missing=True).count(), (100, 200))

    def test_killed(self) -> None:
        """kill -9 right after the manifest's rename; Spark with it. The next run completes the commit."""
        lines = log_lines()
        topic = produced(lines)
        given = {"bootstrap": shared_broker().bootstrap, "topic": topic, "to": self.to, "options": {}}
        self.assertEqual(driver(**given, spark=True, kill_at="publish:1:after"), -signal.SIGKILL)
        self.assertEqual(self.check_part(lines), 0)
        self.assertEqual(ingest(shared_spark(), options(topic, self.to)).commits, 0)
        self.check(lines)


class KilledTests(IngestCase):
    """kill -9 at every kind of step, of a driver that runs its tasks itself."""

    POINTS = (
        "create_dir:1:after",  # before there is a staging directory
        "output:1:before",
        "output:2:after",  # in the midst of the tasks
        "sync:5:after",
        "publish:1:before",
        "publish:1:after",
        "move:1:before",
        "move:5:before",  # some in place, some not
        "publish:2:after",
        "remove:1:before",
        "remove:1:after",
    )

    def test_every_kind_of_step(self) -> None:
        """After each kill what is visible is there once, and more has come; in the end all is there, once."""
        lines = log_lines()[:3000]
        topic = produced(lines)
        given: dict[str, Any] = {"bootstrap": shared_broker().bootstrap, "topic": topic, "to": self.to}
        given["options"] = {"partition_by": ["partition"], "max_records": 500, "bounds": SMALL_TASKS}
        seen = 0
        for point in self.POINTS:
            self.assertEqual(driver(**given, spark=False, kill_at=point), -signal.SIGKILL, point)
            now = self.check_part(lines)
            self.assertGreaterEqual(now, seen, point)
            seen = now
        self.assertGreater(seen, 1000)
        self.assertLess(seen, len(lines))
        spark: Any = FakeSpark()
        ingest(spark, options(topic, self.to, partition_by=["partition"]))
        self.check(lines)
