"""A stream of PySpark from the latest offset, whose driver is killed 20 times under load: nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.testing import EmbeddedBroker

ROOT = Path(__file__).resolve().parent.parent.parent
KILLS = 20
SEED = 20261123
LONGEST_S = 3.0
DEADLINE_S = 120.0
BURST, PAUSE_S = 20, 0.02

DRIVER = """
import json, sys
from pyspark.sql import functions
from kafkatx.spark.session import spark_session
bootstrap, folder, log, trigger = sys.argv[1:]
with spark_session(log) as spark:
    source = spark.readStream.format("kafkatx").option("kafka.bootstrap.servers", bootstrap)
    frame = source.option("subscribe", "t").option("maxOffsetsPerTrigger", "5000").load()
    writer = frame.writeStream.format("parquet").option("path", f"{folder}/table")
    writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
    query = (writer.trigger(availableNow=True) if trigger == "now" else writer).start()
    print("started", flush=True)
    query.awaitTermination()
    table = spark.read.parquet(f"{folder}/table")
    rows = table.selectExpr("partition AS p", "offset AS o").groupBy("p").agg(
        *(getattr(functions, name)("o") for name in ("min", "max", "count", "countDistinct"))
    )
    print(json.dumps({row[0]: list(row[1:]) for row in rows.collect()}))
"""


class RestartTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker with a topic, and a folder for table and checkpoint."""
        broker = EmbeddedBroker(run_in="process").start()
        self.addCleanup(broker.__exit__, None, None, None)
        self.bootstrap = broker.bootstrap
        with Cluster(self.bootstrap) as cluster:
            Admin(cluster).create_topic("t", 2)
        folder = tempfile.TemporaryDirectory(prefix="kafkatx-restarts-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.ended = threading.Event()
        self.addCleanup(self.ended.set)

    def produce(self) -> None:
        """Write until the test ends."""
        chance = random.Random(SEED)
        with Cluster(self.bootstrap) as cluster:
            while not self.ended.is_set():
                with Writer(cluster, "t") as writer:
                    for _ in range(chance.randrange(1, BURST)):
                        writer.send(b"v" * 100, partition=chance.randrange(2))
                time.sleep(PAUSE_S)

    def drive(self, trigger: str) -> subprocess.Popen[str]:
        """Start the query in a process group of its own; come back when it has started."""
        command = [sys.executable, "-c", DRIVER, self.bootstrap, str(self.folder), str(self.folder / "log")]
        driver = subprocess.Popen(
            [*command, trigger],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        assert driver.stdout is not None
        self.addCleanup(driver.stdout.close)
        self.assertEqual(driver.stdout.readline(), "started\n", self.log())
        return driver

    def log(self) -> str:
        """The end of what Spark has logged."""
        return (self.folder / "log").read_text(errors="replace")[-3000:]

    def test_kills(self) -> None:
        """Each record from the first batch on is in the table, once."""
        chance = random.Random(SEED)
        producing = threading.Thread(target=self.produce)
        producing.start()
        starts: dict[str, int] = {}
        for _ in range(KILLS):
            driver = self.drive("continue")
            starts = starts or self.starts()
            time.sleep(chance.uniform(0, LONGEST_S))
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        self.ended.set()
        producing.join()
        last, _ = self.drive("now").communicate()
        with Cluster(self.bootstrap) as cluster:
            ends = {str(p): end for p, (end, _) in cluster.offsets("t", {0: -1, 1: -1}).items()}
        sizes = {p: ends[p] - start for p, start in starts.items()}
        sys.stdout.write(f"{KILLS} kills, {sum(sizes.values())} records\n")
        expected = {p: [start, ends[p] - 1, sizes[p], sizes[p]] for p, start in starts.items()}
        self.assertEqual(json.loads(last), expected)

    def starts(self) -> dict[str, int]:
        """Return the start of the first batch, once it is in the checkpoint, which keeps 100 batches."""
        written = self.folder / "checkpoint/offsets/0"
        deadline = time.monotonic() + DEADLINE_S
        while not written.exists():
            self.assertLess(time.monotonic(), deadline, self.log())
            time.sleep(0.05)
        starts: dict[str, int] = json.loads(written.read_text().splitlines()[-1])["<start>"]["t"]
        return starts
