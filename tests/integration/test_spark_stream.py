"""``spark.readStream.format("kafkatx")`` against a real broker, in a real Spark."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kafkatx.blocking import Admin, Cluster
from kafkatx.testing import EmbeddedBroker
from tests.integration.spark import shared_spark, spark_log
from tests.integration.test_spark import SparkTestCase
from tests.ports import free_port
from tests.test_readme import ROOT, blocks

DEADLINE_S = 90.0
OUTAGE_S = 4.0
TRIGGERS_S = 1.0
"""Time for a query that polls to make many batches, should it want to."""


class StreamTestCase(SparkTestCase):
    """A query with a checkpoint, whose batches are collected."""

    def setUp(self) -> None:
        """Connect; there are no batches yet."""
        super().setUp()
        self.batches: list[list[bytes]] = []
        self.failures: list[Exception] = []
        self.checkpoint = str(Path(self.mktemp()).resolve())

    def stream(self, **options: str) -> Any:
        """A DataFrame of the topic; options with ``_`` for ``.``."""
        named = {name.replace("_", "."): value for name, value in options.items()}
        if not {"subscribe", "subscribePattern", "assign"} & set(named):
            named["subscribe"] = self.topic
        reader = shared_spark().readStream.format("kafkatx")
        return reader.option("kafka.bootstrap.servers", self.bootstrap).options(**named).load()

    def start(self, frame: Any, **trigger: Any) -> Any:
        """Start the query, or start it again."""

        def collect(batch: Any, number: int) -> None:
            rows = batch.orderBy("topic", "partition", "offset").select("value").collect()
            if self.failures:
                raise self.failures.pop()
            del self.batches[number:]
            self.batches.append([bytes(row.value) for row in rows])

        writer = frame.writeStream.foreachBatch(collect).option("checkpointLocation", self.checkpoint)
        query = writer.trigger(**(trigger or {"availableNow": True})).start()
        self.addCleanup(query.stop)
        return query

    def run_query(self, frame: Any, **trigger: Any) -> list[list[bytes]]:
        """Run it with what there is, to its end; all batches so far."""
        query = self.start(frame, **trigger)
        self.assertTrue(query.awaitTermination(DEADLINE_S))
        return self.batches

    def fails(self, frame: Any) -> str:
        """Return the message of a query that cannot run."""
        from pyspark.errors import PySparkException

        return str(self.assertRaises(PySparkException, self.run_query, frame))

    def values(self, **options: str) -> list[bytes]:
        """Return the offsets of all batches, in any order of their partitions."""
        return sorted(value for batch in self.batches for value in batch)

    def wait_for(self, ready: Callable[[], bool]) -> None:
        """Wait until it is so."""
        deadline = time.monotonic() + DEADLINE_S
        while not ready():
            self.assertLess(time.monotonic(), deadline, self.batches)
            time.sleep(0.05)


class RestartTests(StreamTestCase):
    def test_latest(self) -> None:
        """From latest, with records written between restarts: none is lost and none is read twice.

        The first batch fails after it was written down, and is run again by another process. The model of
        ``tests/spark`` restarts 20 times with kills anywhere; ``tests/faults/spark_restarts.py`` in Spark.
        """
        self.create(partitions=2)
        self.write([b"before"])
        frame = self.stream()
        self.failures.append(RuntimeError("not now"))
        self.assertIn("not now", self.fails(frame))
        self.write([b"a"])
        self.assertEqual(self.run_query(frame), [[], [b"a"]])
        self.write([b"b"], 1)
        self.failures.append(RuntimeError("not now"))
        self.assertIn("not now", self.fails(frame))
        self.write([b"c"])
        self.assertEqual(self.run_query(frame), [[], [b"a"], [b"b"], [b"c"]])
        self.assertEqual(self.run_query(frame), [[], [b"a"], [b"b"], [b"c"]])

    def test_offsets(self) -> None:
        """Offsets in the checkpoint are in the form of Spark's own source."""
        self.create(partitions=2)
        self.write([b"a"] * 3, 1)
        self.run_query(self.stream(startingOffsets="earliest"))
        written = Path(self.checkpoint, "offsets/0").read_text().splitlines()[-1]
        zero, three = {"0": 0, "1": 0}, {"0": 0, "1": 3}
        self.assertEqual(json.loads(written), {self.topic: three, "<start>": {self.topic: zero}})

    def test_docs(self) -> None:
        """The query of ``docs/spark.md`` runs as it stands there."""
        self.create()
        page = (ROOT / "docs/spark.md").read_text()
        (text,) = [block.text for block in blocks(page) if "readStream" in block.text]
        folder = Path(self.mktemp()).resolve()
        text = text.replace("127.0.0.1:9092", self.bootstrap).replace(
            "temperatures.", f"{folder}/temperatures."
        )
        names = {"spark": shared_spark()}
        exec(text.replace('"temperatures"', f'"{self.topic}"'), names)
        self.addCleanup(names["query"].stop)
        self.wait_for((folder / "temperatures.checkpoint/commits/0").exists)
        self.write([b"a"])
        names["query"].processAllAvailable()
        found = shared_spark().read.parquet(f"{folder}/temperatures.parquet").collect()
        self.assertEqual([bytes(row.value) for row in found], [b"a"])


class LimitTests(StreamTestCase):
    def test_most(self) -> None:
        """AvailableNow reads all in batches of maxOffsetsPerTrigger, in proportion; options in any case."""
        self.create(partitions=2)
        self.write([b"%d" % n for n in range(20)], 0)
        self.write([b"x%d" % n for n in range(10)], 1)
        frame = self.stream(STARTINGoffsets="earliest", MAXoffsetsPERtrigger="15", minpartitions="4")
        batches = self.run_query(frame)
        self.assertEqual([len(batch) for batch in batches], [15, 15])
        self.assertEqual(batches[0], [b"%d" % n for n in range(10)] + [b"x%d" % n for n in range(5)])

    def test_once(self) -> None:
        """Trigger.Once reads all there is in one batch, whatever the limits."""
        self.create()
        self.write([b"%d" % n for n in range(20)])
        frame = self.stream(startingOffsets="earliest", maxOffsetsPerTrigger="5")
        self.assertEqual([len(batch) for batch in self.run_query(frame, once=True)], [20])

    def test_least(self) -> None:
        """minOffsetsPerTrigger waits for so many; progress tells where the partitions end."""
        self.create()
        frame = self.stream(startingOffsets="earliest", minOffsetsPerTrigger="10")
        query = self.start(frame, processingTime="0 seconds")
        self.wait_for(lambda: len(self.batches) == 1)
        self.write([b"v"] * 9)
        time.sleep(TRIGGERS_S)
        self.write([b"v"])
        self.wait_for(lambda: len(self.batches) == 2)
        self.assertEqual([len(batch) for batch in self.batches], [0, 10])
        self.wait_for(lambda: (query.lastProgress or {"batchId": 0})["batchId"] > 0)
        (source,) = query.lastProgress["sources"]
        self.assertEqual(json.loads(source["latestOffset"]), {self.topic: {"0": 10}})
        query.stop()


class NewPartitionTests(StreamTestCase):
    def test_added(self) -> None:
        """Partitions and topics that are added while a query runs are read from their beginning."""
        self.create()
        query = self.start(self.stream(subscribePattern=f"^{self.topic}"), processingTime="0 seconds")
        self.wait_for(lambda: len(self.batches) == 1)
        Admin(self.cluster).create_partitions(self.topic, 2)
        self.cluster.forget_metadata()
        self.write([b"a"], 1)
        other = f"{self.topic}-other"
        self.create(topic=other)
        self.write([b"b"], topic=other)
        self.wait_for(lambda: len(self.values()) >= 2)
        query.stop()
        self.assertEqual(self.values(), [b"a", b"b"])


class DataLossTests(StreamTestCase):
    def test_deleted_records(self) -> None:
        """Records that are deleted between two batches fail the query, or are passed over with a warning."""
        self.create()
        self.run_query(self.stream())
        self.write([b"0", b"1", b"2", b"3"])
        Admin(self.cluster).delete_records(self.topic, {0: 3})
        said = self.fails(self.stream())
        lost = f"{self.topic} [0] offsets 0 to 4 cannot be read: the log has 3 to 4"
        self.assertIn(lost, said)
        self.assertEqual(self.run_query(self.stream(failOnDataLoss="false")), [[], [b"3"]])
        self.assertIn(lost, spark_log().read_text(errors="replace"))

    def test_made_anew(self) -> None:
        """A topic that is deleted and created again ends the query, or is then read from its beginning."""
        self.create()
        self.write([b"0", b"1", b"2"])
        self.run_query(self.stream(startingOffsets="earliest"))
        quick = {"fetchOffset.retryIntervalMs": "100"}
        Admin(self.cluster).delete_topic(self.topic)
        self.assertIn(
            f"{self.topic}-0 are gone. Some data may have been missed", self.fails(self.stream(**quick))
        )
        self.create()
        self.cluster.forget_metadata()
        self.write([b"new"])
        said = self.fails(self.stream(**quick))
        self.assertIn(f"Partition {self.topic}-0's offset was changed from 3 to 1", said)
        frame = self.stream(**quick, failOnDataLoss="false")
        self.assertEqual(self.run_query(frame), [[b"0", b"1", b"2"], [b"new"]])


class OutageTests(StreamTestCase):
    def setUp(self) -> None:
        """A broker that comes back where it was."""
        super().setUp()
        listeners = f"PLAINTEXT://127.0.0.1:{free_port()}"
        folder = str(Path(self.mktemp()).resolve())
        settings = {"listeners": listeners}
        self.broker = EmbeddedBroker(settings, data_dir=folder, run_in="process").start()
        self.addCleanup(self.broker.stop)
        self.bootstrap = self.broker.bootstrap
        self.cluster = Cluster(self.bootstrap)
        self.addCleanup(self.cluster.close)
        self.create()

    def test_stream(self) -> None:
        """A broker that goes away and comes back ends no query, and nothing is lost."""
        query = self.start(self.stream(), processingTime="0 seconds")
        self.wait_for(lambda: len(self.batches) == 1)
        self.write([b"a"])
        self.wait_for(lambda: self.values() == [b"a"])
        self.broker.kill()
        time.sleep(OUTAGE_S)
        self.assertTrue(query.isActive)
        self.broker.start()
        self.write([b"b"])
        self.wait_for(lambda: self.values() == [b"a", b"b"])
        query.stop()

    def test_batch(self) -> None:
        """Nor a batch that has been planned."""
        self.write([b"a"])
        frame = self.load()
        planned = frame.rdd
        planned.getNumPartitions()
        self.broker.kill()
        starting = threading.Timer(OUTAGE_S, self.broker.start)
        starting.start()
        self.assertEqual([bytes(row.value) for row in planned.collect()], [b"a"])
        starting.join()


class ErrorTests(StreamTestCase):
    def test_options(self) -> None:
        """A wrong option is told with its name."""
        self.create()
        for options, said in (
            ({"endingOffsets": "latest"}, "endingOffsets: ending offset not valid in streaming queries"),
            ({"maxOffsetsPerTriger": "1"}, "did you mean maxOffsetsPerTrigger?"),
            ({"startingTimestamp": "99999999999999"}, "startingTimestamp: No offset matched from request"),
            ({"startingOffsets": "{}"}, "startingOffsets: if it contains specific offsets"),
        ):
            self.assertIn(said, self.fails_anywhere(options))

    def test_no_such_topic(self) -> None:
        """A topic that is not there when a query starts is an error that names it; it is not created."""
        self.assertIn(f"there is no topic '{self.topic}'", self.fails_anywhere({}))
        self.assertNotIn(self.topic, [topic.name for topic in Admin(self.cluster).list_topics()])

    def fails_anywhere(self, options: dict[str, str]) -> str:
        """Return the message from loading or from running it."""
        from pyspark.errors import PySparkException

        said = str(self.assertRaises(PySparkException, lambda: self.run_query(self.stream(**options))))
        self.assertNotIn("Traceback", said)
        return said
