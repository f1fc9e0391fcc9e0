"""``kafkatx ingest`` as a process: a real broker, a real Spark, and files that pyarrow reads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from threading import Timer
from typing import Any

import pyarrow.dataset as ds
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from tests.integration.access_log import LogFacts, small_log
from tests.integration.clients import new_topic
from tests.integration.shared import shared_broker
from tests.integration.test_cli import COMMAND, environment

TIMEOUT_S = 600.0
"""A start of Spark takes five seconds, and on a busy machine minutes."""


class IngestCase(SynchronousTestCase):
    """Runs the command; it gets a topic and a directory."""

    def setUp(self) -> None:
        """A topic of two partitions, and a directory that is not there yet."""
        self.topic = new_topic()
        self.to = str(Path(self.mktemp()).resolve())
        with Cluster(shared_broker().bootstrap) as cluster:
            Admin(cluster).create_topic(self.topic, 2)

    def send(self, values: Iterable[bytes | None]) -> None:
        """Write records; their first words are their keys."""
        with Cluster(shared_broker().bootstrap) as cluster, Writer(cluster, self.topic) as writer:
            for value in values:
                writer.send(value, b"none" if value is None else value.partition(b" ")[0])

    def arguments(self, *more: str) -> list[str]:
        """The command line."""
        return [*COMMAND, "ingest", "-t", self.topic, "--to", self.to, "--master", "local[2]", *more]

    def ingest(self, *more: str, code: int = 0) -> str:
        """Run the command and return its stdout; it must end with *code*, without a traceback."""
        done = subprocess.run(
            self.arguments(*more), capture_output=True, text=True, timeout=TIMEOUT_S, env=environment()
        )
        self.errors = done.stderr
        self.assertEqual(done.returncode, code, self.errors)
        self.assertNotIn("Traceback", self.errors)
        return done.stdout

    def table(self) -> Any:
        """All rows, as a reader of the directory finds them."""
        return ds.dataset(self.to, format="parquet", partitioning="hive").to_table()

    def dead_letters(self) -> list[dict[str, Any]]:
        """Return the dead letters."""
        files = Path(self.to, "_dead_letters").glob("*.json")
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]


class AccessLogCase(IngestCase):
    """Ingests a web server's log, and counts its facts."""

    def check(self, facts: LogFacts) -> None:
        """Count in the table what is known of the log."""
        table = self.table()
        rows = table.to_pylist()
        self.assertEqual(len(rows), facts.rows)
        self.assertEqual(Counter(str(row["status"]) for row in rows), facts.statuses)
        self.assertEqual(sum(row["bytes"] or 0 for row in rows), facts.bytes_sent)
        clients = Counter(row["client"] for row in rows)
        self.assertEqual(len(clients), facts.clients)
        busiest = tuple((name, clients[name]) for name, _ in facts.busiest_clients)
        self.assertEqual(busiest, facts.busiest_clients)
        days = Counter(str(row["date"]) for row in rows)
        self.assertEqual(tuple(days[day] for day in sorted(days)), facts.per_day)
        hours = Counter((str(row["date"]), int(row["hour"])) for row in rows)
        hour, count = facts.busiest_hour
        self.assertEqual(hours[f"{hour:%F}", hour.hour], count)
        for row in rows:
            self.assertEqual((f"{row['time']:%F}", row["time"].hour), (str(row["date"]), int(row["hour"])))
        offsets = Counter((row["kafka_partition"], row["kafka_offset"]) for row in rows)
        self.assertEqual(len(offsets), facts.rows)

    def ingest_twice(self, data: bytes, facts: LogFacts) -> None:
        """Ingest a log with some lines that are none, and again, when there is nothing new."""
        lines = data.splitlines()
        broken = [b"no line \xff", lines[0][:40], b""]
        self.send([*lines[: len(lines) // 2], *broken, *lines[len(lines) // 2 :]])
        options = ("--decode", "access-log", "--partition-by", "date,hour", "--once", "--json")

        report = json.loads(self.ingest(*options))
        self.assertEqual((report["rows"], report["dead"]), (facts.rows, len(broken)))
        self.assertEqual(sum(item["end"] - item["start"] for item in report["partitions"]), facts.rows + 3)
        self.assertEqual([item["lag"] for item in report["partitions"]], [0, 0])
        self.check(facts)
        dead = self.dead_letters()
        self.assertEqual(len(dead), len(broken))
        self.assertTrue(all("not a line of the common or combined" in item["reason"] for item in dead))

        before = sorted(Path(self.to).rglob("*"))
        again = json.loads(self.ingest(*options))
        self.assertEqual((again["commits"], again["rows"]), (0, 0))
        self.assertEqual(sorted(Path(self.to).rglob("*")), before)
        self.check(facts)


class AccessLogTests(AccessLogCase):
    def test_facts(self) -> None:
        """A web server's log becomes a table by date and hour; what is no line of it a dead letter.

        The same command again finds nothing new.
        """
        self.ingest_twice(*small_log())


class FollowTests(IngestCase):
    def follow(self) -> subprocess.Popen[str]:
        """The command, going on; what it has not done after a long time it will not do."""
        process = subprocess.Popen(
            self.arguments("--decode", "json", "--follow", "--commit-every", "0"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            start_new_session=True,
        )
        killer = Timer(TIMEOUT_S, process.kill)
        killer.start()
        for clean in (process.__exit__, lambda *_: process.kill(), lambda *_: killer.cancel()):
            self.addCleanup(clean, None, None, None)
        return process

    def wait_for(self, process: subprocess.Popen[str], text: str) -> None:
        """Read stderr up to a line with this text."""
        assert process.stderr is not None
        read = []
        for line in process.stderr:
            read.append(line)
            if text in line:
                return
        self.fail(f"{text!r} is not in {read}")

    def ended(self, process: subprocess.Popen[str]) -> list[str]:
        """The closing lines of a command that ends well."""
        out, errors = process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        self.assertNotIn("Traceback", errors)
        return out.splitlines()

    def test_pieces(self) -> None:
        """Records that arrive while it runs are committed, also with new fields; signals end it orderly.

        Ctrl-C reaches every process of the terminal, Spark's too; SIGTERM this one alone.
        """
        self.send(json.dumps({"id": number}).encode() for number in range(10))
        process = self.follow()
        self.wait_for(process, "10 records so far, lag 0")
        self.send(json.dumps({"id": number, "name": f"n{number}"}).encode() for number in range(10, 15))
        self.wait_for(process, "15 records so far, lag 0")
        self.assertEqual(self.table().num_rows, 15)
        os.killpg(process.pid, signal.SIGINT)
        lines = self.ended(process)
        self.assertEqual([line.split("\t")[0] for line in lines], [self.topic] * 2)
        self.assertEqual(sum(int(line.split("\t")[3]) for line in lines), 15)

        process = self.follow()
        self.send([b'{"id":"fifteen"}', None])
        self.wait_for(process, "2 records so far, lag 0")
        process.terminate()
        self.ended(process)
        # pyarrow takes the columns of the first file that it finds unless it is told of all
        rows = sorted(
            ds.dataset(self.to, format="parquet", schema=self.newest_schema()).to_table().to_pylist(),
            key=lambda row: (row["id"] is None, row["id"]),
        )
        expected = [(n, f"n{n}" if n >= 10 else None) for n in range(15)]
        self.assertEqual([(row["id"], row["name"]) for row in rows], [*expected, (None, None)])
        (dead,) = self.dead_letters()
        self.assertEqual(dead["reason"], "field id: 'fifteen' is no bigint")

    def newest_schema(self) -> Any:
        """Return the name of the newest file."""
        return ds.dataset(max(Path(self.to).glob("*.parquet")), format="parquet").schema


class MistakeTests(IngestCase):
    def test_bad_options(self) -> None:
        """Mistakes are told in a line, before Spark is started."""
        for more, code, reason in (
            (["--decode", "access_log"], 1, "did you mean access-log"),
            (["--decode", "avro", "--registry", "http://127.0.0.1:1"], 1, "no schema registry answers"),
            (["-t", "no-such-topic"], 1, "no-such-topic"),
            (["-t", "no topic"], 1, "topic=no topic"),
            (["--partition-by", "nothing"], 1, "nothing"),
            (["--to", "s3://bucket/x"], 1, "not atomic on s3"),
            (["-b", "127.0.0.1:1", "--timeout", "1"], 1, "127.0.0.1:1"),
            (["--pattern", "x"], 2, "give --topic"),
        ):
            self.ingest(*more, code=code)
            self.assertIn(reason, self.errors)
            self.assertNotIn("starting Spark", self.errors)
        self.assertFalse(Path(self.to).exists())
