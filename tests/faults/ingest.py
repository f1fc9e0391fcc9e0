"""Ingestions killed and starved again and again: no record is lost, none is there twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from typing import Any

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.spark.ingest import IngestError, IngestOptions, ingest
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Subscribe
from kafkatx.testing import EmbeddedBroker
from tests.faults.full_disk import small_disk
from tests.integration.test_spark_ingest import IngestCase, driver, log_lines
from tests.ports import free_port
from tests.spark.ingest.fakes import FakeSpark

RUNS = 30
COPIES = 100
PARTITIONS = 4
SEED = 20261121
AWAY_S = 20.0

POINTS = (
    "create_dir:1:after",
    "tasks",
    "tasks",
    "sync:4:before",
    "sync:6:after",
    "output:1:before",
    "output:1:after",
    "publish:1:before",
    "publish:1:after",
    "move:1:before",
    "move:2:after",
    "move:3:before",
    "remove:1:before",
    "remove:1:after",
)


class KillTests(IngestCase):
    """One broker, one directory, and drivers that die."""

    def test_kills(self) -> None:
        """Each run is killed at some step, its workers at random; what is visible then is there once."""
        chance = random.Random(SEED)
        lines = log_lines() * COPIES
        with EmbeddedBroker(run_in="process") as broker, tempfile.TemporaryDirectory(prefix="kafkatx-") as to:
            self.to = to
            with Cluster(broker.bootstrap) as cluster:
                Admin(cluster).create_topic("t", PARTITIONS)
                with Writer(cluster, "t", compression="lz4") as writer:
                    for line in lines:
                        writer.send(line, key=line.split(b" ")[0])
            given: dict[str, Any] = {"bootstrap": broker.bootstrap, "topic": "t", "to": to, "spark": True}
            seen, kills = 0, Counter[str]()
            for run in range(RUNS):
                point = chance.choice(POINTS)
                options = {
                    "partition_by": ["date", "hour"],
                    "max_records": len(lines) // RUNS,
                    "bounds": {"target_file_bytes": 500_000},
                }
                status = driver(**given, options=options, kill_at=point, kill_workers=chance.randint(0, 1))
                kills[point] += status == -signal.SIGKILL
                now = self.check_part(lines)
                self.assertGreaterEqual(now, seen, (run, point))
                sys.stdout.write(f"run {run}, {point}: status {status}, {now} rows\n")
                seen = now
            self.assertGreater(kills.total(), RUNS // 2)
            last = {"partition_by": ["date", "hour"]}
            self.assertEqual(driver(**given, options=last, kill_workers=1), 0)
            self.check(lines)


class StarvedTests(IngestCase):
    """Without a disk, without a broker. Tasks run in this process: what matters is not Spark's."""

    spark: Any = FakeSpark()

    def test_full_disk(self) -> None:
        """A disk fills: the directory is named, what is committed stays, and with room it goes on."""
        lines = [b"%d %s" % (n, random.Random(n).randbytes(1000)) for n in range(4000)]
        with EmbeddedBroker() as broker, small_disk() as disk:
            self.to = str(disk / "table")
            with Cluster(broker.bootstrap) as cluster:
                Admin(cluster).create_topic("t", 1)
                with Writer(cluster, "t") as writer:
                    for line in lines:
                        writer.send(line, key=line.split(b" ")[0])
            client = ClientSettings(broker.bootstrap)
            options = IngestOptions(client, Subscribe(("t",)), self.to, max_records=1000)
            held = 0
            for _ in range(2):
                error = self.assertRaises(IngestError, ingest, self.spark, options)
                self.assertIn(f"{self.to}: ", str(error))
                self.assertIn("No space left on device", str(error))
                self.assertGreaterEqual(self.check_part(lines), max(held, 1000))
                held = self.check_part(lines)
            self.assertLess(held, len(lines))
            subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
            ingest(self.spark, options)
            self.check(lines)

    def test_broker_away(self) -> None:
        """The broker is killed in the midst, and back after 20 s: the ingestion goes on by itself."""
        lines = log_lines() * 5
        settings = {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        with tempfile.TemporaryDirectory(prefix="kafkatx-") as data_dir:
            broker = EmbeddedBroker(settings, data_dir=data_dir, run_in="process").start()
            self.addCleanup(broker.stop)
            with Cluster(broker.bootstrap) as cluster:
                Admin(cluster).create_topic("t", 2)
                with Writer(cluster, "t") as writer:
                    for line in lines:
                        writer.send(line, key=line.split(b" ")[0])
            options = IngestOptions(
                ClientSettings(broker.bootstrap), Subscribe(("t",)), self.to, max_records=5000
            )
            again = threading.Timer(AWAY_S, broker.start)
            killed: list[float] = []

            def told(progress: Any) -> None:
                if progress.commit == 3 and not killed:
                    killed.append(time.monotonic())
                    broker.kill()
                    again.start()

            report = ingest(self.spark, options, told)
            again.join()
            self.assertGreater(time.monotonic() - killed[0], AWAY_S)
            self.assertEqual(report.rows, len(lines))
            self.check(lines)
