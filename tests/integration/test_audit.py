"""The audit against a real broker: both clients, ``kafkatx audit`` and the Spark job."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from kafkatx.blocking import Admin, Cluster, Reader, Writer
from kafkatx.blocking.producer.audit import Announcer
from kafkatx.client.threads import Consumer, Producer
from kafkatx.errors import SettingError
from kafkatx.spark.audit import audit, main, table
from kafkatx.types import TopicPartition
from tests.integration.shared import shared_broker
from tests.integration.spark import shared_spark
from tests.integration.test_cli import ProcessCase, environment
from tests.test_readme import ROOT, blocks

START_MS = 1_431_857_100_000
WINDOW_MS = 10_000
LINES = 3000


class AuditCase(ProcessCase):
    def setUp(self) -> None:
        """A topic with two partitions that keeps old records, and an audit topic of its own."""
        super().setUp()
        self.cluster = Cluster(shared_broker().bootstrap)
        self.addCleanup(self.cluster.close)
        self.audit_topic = f"audit-of-{self.topic}"
        Admin(self.cluster).create_topic(self.topic, 2, configs={"retention.ms": "-1"})

    def produce(self) -> None:
        """2,000 records by each client, into four windows, 250 of each in each partition and window."""
        times = [START_MS + number * 20 for number in range(2000)]
        settings = {
            "bootstrap.servers": shared_broker().bootstrap,
            "audit.interval.ms": WINDOW_MS,
            "audit.topic": self.audit_topic,
        }
        with Producer(settings) as producer:
            for number, time_ms in enumerate(times):
                producer.send(self.topic, b"%d" % number, partition=number % 2, timestamp_ms=time_ms)
        announcer = Announcer(self.cluster, "blocking", WINDOW_MS, self.audit_topic)
        with Writer(self.cluster, self.topic, auditor=announcer) as writer:
            for number, time_ms in enumerate(times):
                writer.send(b"%d" % number, partition=number % 2, timestamp_ms=time_ms)

    def store(self, directory: str) -> list[str]:
        """The topic as Parquet, a file for each window."""
        import pyarrow
        from pyarrow import parquet

        rows: list[dict[str, Any]] = []
        for partition in (0, 1):
            with Reader(self.cluster, self.topic, partition, start_offset=0, end_offset=2000) as reader:
                rows += [
                    {"topic": self.topic, "partition": partition, "offset": r.offset, "ms": r.timestamp}
                    for r in reader
                ]
        os.makedirs(directory)
        paths = []
        for window in range(4):
            chosen = [row for row in rows if (row["ms"] - START_MS) // WINDOW_MS == window]
            table = pyarrow.Table.from_pylist(chosen)
            times = table["ms"].cast(pyarrow.timestamp("ms", "UTC")).cast(pyarrow.timestamp("us", "UTC"))
            paths.append(os.path.join(directory, f"part-{window}.parquet"))
            parquet.write_table(table.drop_columns(["ms"]).append_column("timestamp", times), paths[-1])
        return paths

    def audit(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """Run ``kafkatx audit`` without waiting for windows to settle, and return its output."""
        told = ("--settle", "0", "--json", "--audit-topic", self.audit_topic)
        printed = self.run_command("audit", *told, *arguments, code=code)
        return [json.loads(line) for line in printed.splitlines()]


class AuditTests(AuditCase):
    def test_both_clients(self) -> None:
        """The announcements of both clients match the topic, with a window for each ten seconds."""
        self.produce()
        self.assertEqual(self.audit("-t", self.topic), [])
        windows = self.audit("--all", "--lateness")
        self.assertEqual(
            [w["window_start_ms"] for w in windows], [START_MS + n * WINDOW_MS for n in range(4)]
        )
        self.assertEqual({(w["announced"], w["found"], w["distinct"]) for w in windows}, {(1000, 1000, 1000)})
        self.assertIn("4 windows of 10 s: 4 equal", self.errors)
        self.assertGreater(windows[0]["announced_after_ms"], 0)
        times = ("--window-from", "2015-05-17T10:05:10Z", "--until", "2015-05-17T10:05:20Z")
        self.assertEqual([w["window_start"] for w in self.audit("--all", *times)], ["2015-05-17T10:05:10Z"])
        (whole,) = self.audit("--all", "--window", "60")
        self.assertEqual((whole["announced"], whole["found"]), (4000, 4000))
        (unannounced,) = [w for w in self.audit_after_another_record() if w["unannounced"]]
        self.assertEqual((unannounced["unannounced"], unannounced["missing"]), (1, 0))

    def audit_after_another_record(self) -> list[dict[str, Any]]:
        """The same once a producer without audit has written."""
        with Writer(self.cluster, self.topic) as writer:
            writer.send(b"unseen", timestamp_ms=START_MS)
        return self.audit()

    def test_group(self) -> None:
        """Records that a group has read are compared window by window: all, some, and some twice."""
        self.produce()
        group = f"readers-of-{self.topic}"
        consume = ("consume", "-G", group, self.topic, "-e", "--audit-interval-ms", str(WINDOW_MS))
        told = ("--audit-topic", self.audit_topic)
        self.run_command(*consume, *told, "-c", "1500")
        windows = self.audit("--group", group, "--all", code=1)
        self.assertEqual(sum(w["consumed"] for w in windows), 1500)
        self.assertEqual(sum(w["unconsumed"] for w in windows), 2500)
        self.run_command(*consume, *told)
        self.assertEqual(self.audit("--group", group), [])
        windows = self.audit("--group", group, "--all", "--by", "server")
        starts = [START_MS + number * WINDOW_MS for number in range(4)]
        self.assertEqual([w["window_start_ms"] for w in windows], starts)
        numbers = {(w["announced"], w["found"], w["consumed"], w["unconsumed"], w["reread"]) for w in windows}
        self.assertEqual(numbers, {(1000, 1000, 1000, 0, 0)})
        self.assertEqual([w["servers"] for w in windows], [{platform.node(): 1000}] * 4)
        self.assertIn("0 not consumed, 0 read again", self.errors)
        self.assertEqual({w["missing"] for w in self.audit("--all")}, {0}, "consumers are no producers")
        self.read_again(group)
        windows = self.audit("--group", group, code=1)
        self.assertEqual([(w["window_start_ms"], w["reread"]) for w in windows], [(starts[0], 10)])
        self.assertEqual({w["unconsumed"] for w in self.audit("--group", "others", code=1)}, {1000})

    def read_again(self, group: str) -> None:
        """Make the group read the first ten records of a partition again."""
        settings = {
            "bootstrap.servers": shared_broker().bootstrap,
            "group.id": group,
            "audit.interval.ms": WINDOW_MS,
            "audit.topic": self.audit_topic,
        }
        with Consumer(settings) as consumer:
            place = TopicPartition(self.topic, 0)
            consumer.assign([place])
            consumer.seek(place, 0)
            self.assertEqual(len(consumer.getmany(10, 10_000)[place]), 10)

    def test_server_header(self) -> None:
        """``kafkatx produce`` writes the server's name into each record."""
        options = ("--audit-server", "web-1", "--audit-server-header", "server")
        self.run_command("produce", self.topic, *options, data=b"a\nb\n")
        printed = self.run_command("consume", self.topic, "-e", "-f", "%s %h\\n")
        self.assertEqual(sorted(printed.splitlines()), [b"a server=web-1", b"b server=web-1"])

    def test_open(self) -> None:
        """A recent announcement is shown and not judged yet."""
        self.produce()
        Admin(self.cluster).delete_topic(self.topic)
        Admin(self.cluster).create_topic(self.topic, 2)
        told = self.run_command("audit", "--json", "--audit-topic", self.audit_topic)
        self.assertEqual({json.loads(line)["open"] for line in told.splitlines()}, {True})
        windows = self.audit(code=1)
        self.assertEqual([(w["open"], w["missing"]) for w in windows], [(False, 1000)] * 4)

    def test_table(self) -> None:
        """A file that is removed is missing, one that is copied is doubled; the picture shows both."""
        self.produce()
        directory = os.path.abspath(self.mktemp())
        paths = self.store(directory)
        self.assertEqual(self.audit("--ingested", directory), [])
        os.remove(paths[1])
        shutil.copy(paths[2], os.path.join(directory, "copy.parquet"))
        picture = os.path.abspath(self.mktemp()) + ".png"
        windows = self.audit("--to", directory, "--plot", picture, code=1)
        found = [(w["window_start_ms"], w["missing"], w["doubled"], w["found"]) for w in windows]
        starts = [START_MS + n * WINDOW_MS for n in (1, 2)]
        self.assertEqual(found, [(starts[0], 1000, 0, 0), (starts[1], 0, 1000, 2000)])
        self.assertIn("1000 records missing, 1000 doubled", self.errors)
        with open(picture, "rb") as file:
            self.assertEqual(file.read(4), b"\x89PNG")
        self.spark_agrees(directory, windows)

    def spark_agrees(self, directory: str, expected: list[dict[str, Any]]) -> None:
        """The Spark job finds the same in the table, and nothing wrong in the topic."""
        spark, bootstrap = shared_spark(), shared_broker().bootstrap
        for where, windows in ((directory, expected), (None, [])):
            frame = audit(spark, bootstrap, [self.topic], where, settle_ms=0, audit_topic=self.audit_topic)
            rows = [row.asDict() for row in frame.collect()]
            self.assertEqual(len(rows), 4)
            self.assertEqual({row["open"] for row in rows}, {False})
            names = ("topic", "announced", "found", "distinct", "missing", "doubled", "unannounced")
            differing = [
                {name: row[name] for name in names} | {"ms": round(row["window_start"].timestamp() * 1000)}
                for row in rows
                if row["missing"] or row["doubled"] or row["unannounced"]
            ]
            wanted = [{name: w[name] for name in names} | {"ms": w["window_start_ms"]} for w in windows]
            self.assertEqual(differing, wanted)
        arguments = ["-b", bootstrap, "--audit-topic", self.audit_topic, "--settle", "0", "-t", self.topic]
        with redirect_stdout(StringIO()) as printed:
            self.assertEqual(main([*arguments, "--ingested", directory]), 1)
        self.assertEqual(printed.getvalue().count(self.topic), 2)

    def test_spark_formats(self) -> None:
        """The job reads JSON with a decoder's columns, and dead letters; what is no table it refuses."""
        directory = os.path.abspath(self.mktemp())
        rows = [
            (
                "hour=01/part.json",
                {"topic": "own", "kafka_topic": "t", "kafka_partition": 0, "kafka_offset": 5},
            ),
            ("_dead_letters/part.json", {"topic": "t", "partition": 0, "offset": 6, "reason": "?"}),
        ]
        for number, (name, row) in enumerate(rows):
            path = Path(directory, name)
            path.parent.mkdir(parents=True)
            prefix = "kafka_" if "kafka_topic" in row else ""
            row[f"{prefix}timestamp"] = f"2015-05-17T10:05:0{number}.250Z"
            path.write_text(json.dumps(row) + "\n")
        found = {(*row[:3], row[3].timestamp()) for row in table(shared_spark(), directory).collect()}
        second = START_MS / 1000
        self.assertEqual(found, {("t", 0, 5, second + 0.25), ("t", 0, 6, second + 1.25)})
        self.assertRaises(SettingError, table, shared_spark(), f"{directory}/nowhere")
        Path(directory, "hour=01/part.json").write_text('{"topic": "t"}\n')
        self.assertRaises(SettingError, table, shared_spark(), directory)

    def test_command_line(self) -> None:
        """``kafkatx produce`` announces what it writes; the audit is in lines with tabs between."""
        lines = b"".join(b"line %d\n" % number for number in range(LINES))
        options = ("--audit-interval-ms", "1", "--audit-topic", self.audit_topic)
        self.run_command("produce", self.topic, *options, data=lines)
        told = ("--settle", "0", "--all", "--audit-topic", self.audit_topic)
        rows = [line.split("\t") for line in self.run_command("audit", *told).decode().splitlines()]
        self.assertEqual({row[0] for row in rows}, {self.topic})
        self.assertEqual(sum(int(row[2]) for row in rows), LINES)
        self.assertEqual({tuple(row[4:]) for row in rows}, {("0", "0", "0", "ok")})

    def test_page(self) -> None:
        """The commands of ``docs/audit.md`` work, and the audit finds nothing wrong."""
        page = (ROOT / "docs/audit.md").read_text()
        commands = [block.text for block in blocks(page) if block.language == "sh"]
        self.assertEqual(len(commands), 1)
        text = (
            commands[0]
            .replace("orders", self.topic)
            .replace("kafkatx audit", f"kafkatx audit -t {self.topic}")
        )
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            env={**environment(), "PATH": path},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("0 records missing, 0 doubled, 0 unannounced", done.stderr)

    def test_errors(self) -> None:
        """No audit topic, no announcements, and no table: one line each."""
        self.run_command("audit", "--audit-topic", self.audit_topic, code=1)
        self.assertIn(self.audit_topic, self.errors)
        Admin(self.cluster).create_topic(self.audit_topic, 1)
        self.run_command("audit", "-t", self.topic, "--audit-topic", self.audit_topic, code=1)
        self.assertEqual(
            self.errors, f"kafkatx: nothing about {self.topic} was announced in {self.audit_topic}\n"
        )
        self.produce()
        self.audit("--ingested", os.path.abspath(self.mktemp()), code=1)
        self.assertEqual(len(self.errors.splitlines()), 1)
        self.run_command("audit", "--window-from", "yesterday", code=2)
        self.run_command("consume", self.topic, "--audit-interval-ms", "1", code=2)
        self.assertIn("only a group's members", self.errors)
