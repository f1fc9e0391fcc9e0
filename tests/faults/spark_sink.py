"""A stream of PySpark into a topic with ``exactlyOnce=true``, killed under load: each record is there once.

All of Spark is killed, at each point of a commit and at random moments; and a worker after its task's work.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader, Writer
from kafkatx.blocking.admin.transactions import Transactions
from kafkatx.testing import EmbeddedBroker

ROOT = Path(__file__).resolve().parent.parent.parent
POINTS = ("task", "commit", "decided", "part", "complete")
KILLS = 8
SEED = 20261127
LONGEST_S = 15.0
DEADLINE_S = 900.0
BURST, PAUSE_S = 40, 0.2

DRIVER = """
import sys
from kafkatx.spark.session import spark_session
from tests.integration.dying_sink import DyingSource
bootstrap, folder, log, point = sys.argv[1:]
with spark_session(log, "local[2,3]") as spark:
    spark.dataSource.register(DyingSource)
    source = spark.readStream.format("kafkatx").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("startingOffsets", "earliest")
    if point != "now":
        source = source.option("maxOffsetsPerTrigger", "2000")
    frame = source.option("subscribe", "in").load().selectExpr("value", "partition")
    writer = frame.writeStream.format("dying").option("kafka.bootstrap.servers", bootstrap)
    writer = writer.option("topic", "out").option("checkpointLocation", f"{folder}/checkpoint")
    writer = writer.option("exactlyOnce", "true").option("kafka.transactional.id", "copy")
    if point not in ("", "now"):
        writer = writer.option("dieAt", point).option("died", f"{folder}/died-{point}")
    if point not in ("", "now", "task"):
        jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        writer = writer.option("jvm", str(jvm))
    query = (writer.trigger(availableNow=True) if point == "now" else writer).start()
    print("started", flush=True)
    query.awaitTermination()
"""


class SinkTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker with two topics, and a folder for the checkpoint."""
        broker = EmbeddedBroker(run_in="process").start()
        self.addCleanup(broker.__exit__, None, None, None)
        self.bootstrap = broker.bootstrap
        with Cluster(self.bootstrap) as cluster:
            for topic in ("in", "out"):
                Admin(cluster).create_topic(topic, 2)
        folder = tempfile.TemporaryDirectory(prefix="kafkatx-sink-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.ended = threading.Event()
        self.addCleanup(self.ended.set)
        self.count = 0

    def produce(self) -> None:
        """Write numbers until the test ends."""
        chance = random.Random(SEED)
        with Cluster(self.bootstrap) as cluster:
            while not self.ended.is_set():
                with Writer(cluster, "in") as writer:
                    for _ in range(chance.randrange(1, BURST)):
                        writer.send(b"%d" % self.count, partition=chance.randrange(2))
                        self.count += 1
                time.sleep(PAUSE_S)

    def drive(self, point: str) -> subprocess.Popen[str]:
        """Start the query in a process group of its own; come back when it has started."""
        command = [sys.executable, "-c", DRIVER, self.bootstrap, str(self.folder), str(self.folder / "log")]
        driver = subprocess.Popen(
            [*command, point],
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

    def kill(self, driver: subprocess.Popen[str]) -> None:
        """Kill what is left of a driver."""
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()

    def die_at(self, point: str) -> None:
        """Run the query until it dies at a point; after a task's death it goes on, and is killed later."""
        driver = self.drive(point)
        died = self.folder / f"died-{point}"
        deadline = time.monotonic() + DEADLINE_S
        while not died.exists():
            self.assertLess(time.monotonic(), deadline, self.log())
            time.sleep(0.1)
        if point != "task":
            driver.wait(DEADLINE_S)
        if driver.poll() is None:
            self.kill(driver)

    def copied(self) -> Counter[bytes]:
        """Count each value in the topic, as a reader of committed records."""
        found: Counter[bytes] = Counter()
        with Cluster(self.bootstrap) as cluster:
            for partition, (end, _) in cluster.offsets("out", {0: -1, 1: -1}, 1).items():
                with Reader(
                    cluster, "out", partition, start_offset=0, end_offset=end, isolation_level=1
                ) as reader:
                    found.update(record.value or b"" for record in reader)
            listed = Transactions(cluster).listings(states=["Ongoing"])
        self.assertEqual(listed, [])
        return found

    def test_kills(self) -> None:
        """Each record of one topic is in the other, once."""
        chance = random.Random(SEED)
        producing = threading.Thread(target=self.produce)
        producing.start()
        for point in POINTS:
            self.die_at(point)
        for _ in range(KILLS):
            driver = self.drive("")
            time.sleep(chance.uniform(0, LONGEST_S))
            self.kill(driver)
        self.ended.set()
        producing.join()
        self.drive("now").communicate(timeout=DEADLINE_S)
        found = self.copied()
        sys.stdout.write(f"{len(POINTS)} deaths, {KILLS} kills, {self.count} records\n")
        self.assertEqual(found, Counter(b"%d" % number for number in range(self.count)))
