"""``make interop``: the same query gives the same rows with Spark's own Kafka source as with ours.

Runs in the environment that :func:`tests.clients.toolchains.prepare` makes for Spark.
"""

from __future__ import annotations

import json
import tempfile
import time
from functools import lru_cache
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from tests.clients.spark import QUICK, spark_with_jars
from tests.integration.shared import shared_broker

PARTITIONS = 3
START_MS = int(time.time() * 1000) - 3_600_000
"""Late enough for retention to leave the records alone."""
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EACH = 120
"""Records of a codec; their times are a second apart."""
ALL = len(CODECS) * EACH


@lru_cache(maxsize=1)
def session() -> Any:
    """One Spark for all tests; it ends with the process."""
    fill("same-a", {})
    fill("same-b", {"message.timestamp.type": "LogAppendTime"})
    return spark_with_jars(QUICK)


def fill(topic: str, configs: dict[str, str]) -> None:
    """A topic with keys, headers, nulls, empty values and large ones, in every codec."""
    with Cluster(shared_broker().bootstrap) as cluster:
        Admin(cluster).create_topic(topic, PARTITIONS, configs=configs)
        for turn, codec in enumerate(CODECS):
            with Writer(cluster, topic, compression=codec, batch_bytes=4096) as writer:
                for number in range(turn * EACH, (turn + 1) * EACH):
                    writer.send(
                        (None, b"", b"v%d" % number, b"large" * number)[number % 4],
                        (None, b"", b"k%d" % (number % 5))[number % 3],
                        partition=number % PARTITIONS,
                        headers=[("h", b"1"), ("h", None)][: number % 3],
                        timestamp_ms=START_MS + number * 1000,
                    )


def comparable(rows: list[Any]) -> list[str]:
    """The rows in an order that does not depend on tasks."""
    return sorted(map(repr, rows))


class SameAnswerTests(SynchronousTestCase):
    def tables(self, options: dict[str, str]) -> list[Any]:
        """Return the answers of both sources to the same options."""
        made = []
        for source in ("kafka", "kafkatx"):
            reader = session().read.format(source).options(**options)
            made.append(reader.option("kafka.bootstrap.servers", shared_broker().bootstrap).load())
        return made

    def compare(self, rows: int, **options: str) -> None:
        """The same columns, the same rows, as many as are expected."""
        theirs, ours = self.tables(options)
        self.assertEqual(theirs.schema.simpleString(), ours.schema.simpleString())
        expected = comparable(theirs.collect())
        self.assertEqual(len(expected), rows)
        self.assertEqual(comparable(ours.collect()), expected)

    def test_subscribe(self) -> None:
        """Everything of two topics, one of them with the broker's times; with headers and without."""
        for headers in ("true", "false"):
            self.compare(2 * ALL, subscribe="same-a,same-b", includeHeaders=headers)

    def test_pattern(self) -> None:
        """Topics chosen by a regular expression."""
        self.compare(ALL, subscribePattern="same-[b-z].*")

    def test_assign(self) -> None:
        """Partitions named one by one."""
        self.compare(2 * ALL // 3, assign=json.dumps({"same-a": [0], "same-b": [2]}))

    def test_offsets(self) -> None:
        """From offset to offset, the earliest and the latest among them."""
        starts = json.dumps({"same-a": {"0": 7, "1": -2, "2": 150}})
        ends = json.dumps({"same-a": {"0": 90, "1": 1, "2": -1}})
        self.compare(83 + 1 + 50, subscribe="same-a", startingOffsets=starts, endingOffsets=ends)

    def test_times(self) -> None:
        """From time to time, for all partitions and for each its own."""
        start, end = START_MS + 100_000, START_MS + 400_000
        self.compare(300, subscribe="same-a", startingTimestamp=str(start), endingTimestamp=str(end))
        times = json.dumps({"same-a": {"0": start, "1": end, "2": START_MS}})
        self.compare(166 + 67 + 200, subscribe="same-a", startingOffsetsByTimestamp=times)

    def test_min_partitions(self) -> None:
        """The number of tasks is the same, and nothing is lost at their seams."""
        options = {"subscribe": "same-a", "minPartitions": "7"}
        theirs, ours = self.tables(options)
        self.assertEqual(theirs.rdd.getNumPartitions(), ours.rdd.getNumPartitions())
        self.compare(ALL, **options)

    def test_stream(self) -> None:
        """A stream of all there is, in small batches, gives what a batch gives."""
        theirs, ours = (self.streamed(source) for source in ("kafka", "kafkatx"))
        self.assertEqual(len(theirs), ALL)
        self.assertEqual(ours, theirs)
        self.assertEqual(ours, comparable(self.tables({"subscribe": "same-a"})[1].collect()))

    def streamed(self, source: str) -> list[str]:
        """Return the rows that ``Trigger.AvailableNow`` reads of a topic."""
        options = {"subscribe": "same-a", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "170"}
        reader = session().readStream.format(source).options(**options)
        table = reader.option("kafka.bootstrap.servers", shared_broker().bootstrap).load()
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = table.writeStream.format("memory").queryName(f"from_{source}")
            writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
            writer.start().awaitTermination()
        return comparable(session().table(f"from_{source}").collect())
