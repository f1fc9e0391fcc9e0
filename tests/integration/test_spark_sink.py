"""``df.write.format("kafkatx")`` and ``writeStream`` against a real broker, in a real Spark."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader
from kafkatx.partitioners import murmur2
from kafkatx.records.batch import parse_header
from kafkatx.records.compression import Codec
from kafkatx.testing import EmbeddedBroker
from tests.integration.clients import new_topic
from tests.integration.shared import shared_broker
from tests.integration.spark import shared_spark
from tests.ports import free_port

DEADLINE_S = 60.0
AWAY_S = 2.0
HEADERS = (
    "array(named_struct('key', 'a', 'value', cast('1' AS binary)), named_struct('key', 'b', 'value', null))"
)


class SinkTestCase(SynchronousTestCase):
    """A cluster, and a topic of two partitions."""

    def setUp(self) -> None:
        """Connect; create the topic."""
        self.bootstrap = shared_broker().bootstrap
        self.cluster = Cluster(self.bootstrap)
        self.addCleanup(self.cluster.close)
        self.topic = self.create(2)

    def create(self, partitions: int, **configs: str) -> str:
        """A new topic; configs with ``_`` for ``.``."""
        topic = new_topic()
        named = {name.replace("_", "."): value for name, value in configs.items()}
        Admin(self.cluster).create_topic(topic, partitions, configs=named)
        return topic

    def write(self, frame: Any, mode: str | None = "append", **options: str) -> None:
        """Write a DataFrame; options with ``_`` for ``.``."""
        writer = frame.write.format("kafkatx").options(**self.options(**options))
        (writer.mode(mode) if mode else writer).save()

    def options(self, **options: str) -> dict[str, str]:
        """Options with the bootstrap servers."""
        named = {name.replace("_", "."): value for name, value in options.items()}
        return {"kafka.bootstrap.servers": self.bootstrap, **named}

    def refused(self, frame: Any, mode: str | None = "append", **options: str) -> str:
        """Return the message of a write that fails."""
        from pyspark.errors import PySparkException

        return str(self.assertRaises(PySparkException, self.write, frame, mode, **options))

    def records(self, topic: str) -> dict[int, list[Any]]:
        """The records of each partition, by the blocking client."""
        ends = self.cluster.offsets(topic, dict.fromkeys(self.cluster.partitions(topic), -1))
        found = {}
        for partition, (end, _) in ends.items():
            with Reader(self.cluster, topic, partition, start_offset=0, end_offset=end) as reader:
                found[partition] = list(reader)
        return found

    def values(self, topic: str) -> list[bytes]:
        """All values, sorted."""
        return sorted(record.value for records in self.records(topic).values() for record in records)


class BatchTests(SinkTestCase):
    def frame(self, *columns: str, rows: int = 1) -> Any:
        """A DataFrame of these expressions of ``id``."""
        return shared_spark().range(rows).selectExpr(*columns)

    def test_every_column(self) -> None:
        """Key, value, headers, topic and partition arrive; librdkafka and our source read them."""
        columns = ["'k' key", "cast('v' AS binary) value", f"{HEADERS} headers", f"'{self.topic}' topic"]
        before_ms = int(time.time() * 1000)
        self.write(self.frame(*columns, "1 partition", "'ignored' other"))
        (message,) = read_by_librdkafka(self.bootstrap, self.topic, 1, 1)
        self.assertEqual((message.key(), message.value()), (b"k", b"v"))
        self.assertEqual(message.headers(), [("a", b"1"), ("b", None)])
        self.assertTrue(before_ms <= message.timestamp()[1] <= time.time() * 1000)
        source = shared_spark().read.format("kafkatx").options(**self.options(subscribe=self.topic))
        (row,) = source.option("includeHeaders", "true").load().collect()
        found = (bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset)
        self.assertEqual(found, (b"k", b"v", self.topic, 1, 0))
        headers = [(header.key, header.value and bytes(header.value)) for header in row.headers]
        self.assertEqual(headers, [("a", b"1"), ("b", None)])

    def test_many(self) -> None:
        """Every row is there once, where its key belongs, in the order of its task."""
        frame = self.frame("cast(id % 100 AS string) key", "cast(id AS string) value", rows=100_000)
        self.write(frame.coalesce(1), topic=self.topic, kafka_compression_type="zstd")
        found = self.records(self.topic)
        self.assertEqual(sum(map(len, found.values())), 100_000)
        for partition, records in found.items():
            self.assertEqual({murmur2(record.key) % (1 << 31) % 2 for record in records}, {partition})
            numbers = [int(record.value) for record in records]
            self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(self.codec(), Codec.ZSTD)

    def codec(self) -> Codec:
        """Return the header of the first batch in the log."""
        folder = os.path.join(shared_broker().data_dir or "", f"{self.topic}-0")
        with open(os.path.join(folder, f"{0:020d}.log"), "rb") as log:
            return parse_header(log.read(100)).codec

    def test_without_key(self) -> None:
        """Rows without key are spread over the partitions; null is a tombstone."""
        frame = self.frame("if(id = 0, null, cast(id AS string)) value", rows=10_000)
        self.write(frame, topic=self.topic, kafka_batch_size="10000", kafka_acks="1")
        found = self.records(self.topic)
        self.assertEqual(sum(map(len, found.values())), 10_000)
        self.assertGreater(min(map(len, found.values())), 1000)
        empty = [record for records in found.values() for record in records if record.value is None]
        self.assertEqual(len(empty), 1)

    def test_topic_column(self) -> None:
        """Each row goes to the topic that it names; the option goes before the column."""
        other = self.create(1)
        topic = f"if(id % 2 = 0, '{self.topic}', '{other}') topic"
        frame = self.frame("cast(id AS string) value", topic, rows=6)
        self.write(frame)
        self.assertEqual(
            (self.values(self.topic), self.values(other)), ([b"0", b"2", b"4"], [b"1", b"3", b"5"])
        )
        self.write(frame, topic=other)
        self.assertEqual((len(self.values(self.topic)), len(self.values(other))), (3, 9))

    def test_refused_when_planned(self) -> None:
        """Wrong columns, options and modes are errors in Spark's words before anything is written."""
        value = self.frame("'v' value")
        self.assertIn("Required attribute 'value' not found", self.refused(self.frame("'k' key"), topic="t"))
        self.assertIn("topic option required when no 'topic' attribute", self.refused(value))
        said = self.refused(self.frame("id value"), topic=self.topic)
        self.assertIn("value attribute unsupported type bigint", said)
        self.assertIn("did you mean acks?", self.refused(value, topic=self.topic, kafka_aks="1"))
        said = self.refused(value, topic=self.topic, kafka_key_serializer="x")
        self.assertIn("'key.serializer' is not supported", said)
        said = self.refused(value, "overwrite", topic=self.topic)
        self.assertIn("Save mode overwrite not allowed", said)
        for mode in (None, "ignore", "errorifexists"):
            self.assertIn('"Append"', self.refused(value, mode, topic=self.topic))
        self.assertEqual(self.values(self.topic), [])

    def test_bad_rows(self) -> None:
        """A row that cannot be written fails its task, and so the write."""
        said = self.refused(self.frame("'v' value", "cast(null AS string) topic"))
        self.assertIn("null topic present in the data", said)
        said = self.refused(self.frame("'v' value", "7 partition"), topic=self.topic)
        self.assertIn(f"{self.topic} [7]: the column 'partition' names it, and the topic has 0 to 1", said)
        said = self.refused(self.frame("repeat('x', 2000000) value"), topic=self.topic)
        self.assertIn("above kafka.max.request.size", said)

    def test_failed_delivery(self) -> None:
        """Records that the broker rejects fail the write, with topic, partition and cause."""
        small = self.create(1, max_message_bytes="1000")
        said = self.refused(self.frame("repeat('x', 2000) value"), topic=small)
        self.assertIn(f"{small} [0]: a message of 2000 bytes is above the topic's max.message.bytes", said)


class BrokerAwayTests(SinkTestCase):
    def setUp(self) -> None:
        """A broker that keeps its port and its data when it is started again."""
        listeners = {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"}
        self.broker = EmbeddedBroker(listeners, data_dir=self.mktemp(), run_in="process")
        self.bootstrap = self.broker.start().bootstrap
        self.addCleanup(self.broker.stop)
        self.cluster = Cluster(self.bootstrap)
        self.addCleanup(self.cluster.close)
        self.topic = self.create(2)

    @contextmanager
    def killed(self, after_s: float) -> Iterator[None]:
        """Meanwhile the broker is killed, and comes back."""

        def come_and_go() -> None:
            time.sleep(after_s)
            self.broker.kill()
            time.sleep(AWAY_S)
            self.broker.start()

        thread = threading.Thread(target=come_and_go)
        thread.start()
        try:
            yield
        finally:
            thread.join(DEADLINE_S)

    def test_goes_on(self) -> None:
        """A write goes on when the broker is back; every row is there once, for no task was run again."""
        spark = shared_spark()
        spark.udf.register("slowly", slowly, "bigint")
        rows_at_a_time = "spark.sql.execution.arrow.maxRecordsPerBatch"
        spark.conf.set(rows_at_a_time, "100")
        self.addCleanup(spark.conf.unset, rows_at_a_time)
        frame = spark.range(0, 4000, 1, 1).selectExpr("cast(slowly(id) AS string) value")
        with self.killed(after_s=0.7):
            self.write(frame, topic=self.topic, kafka_buffer_memory="1000")
        self.assertEqual(sorted(map(int, self.values(self.topic))), list(range(4000)))

    def test_away_at_first(self) -> None:
        """A task that starts while the broker is away waits for it."""
        self.broker.kill()
        with self.killed(after_s=0.0):
            self.write(shared_spark().range(10).selectExpr("cast(id AS string) value"), topic=self.topic)
        self.assertEqual(len(self.values(self.topic)), 10)


class StreamTests(SinkTestCase):
    def setUp(self) -> None:
        """A directory whose files are streamed."""
        super().setUp()
        self.folder = os.path.abspath(self.mktemp())
        self.input = os.path.join(self.folder, "in")
        os.makedirs(self.input)

    def add(self, name: str, *lines: str) -> None:
        """A new file, whole when it is seen."""
        hidden = os.path.join(self.folder, name)
        with open(hidden, "w") as file:
            file.writelines(f"{line}\n" for line in lines)
        os.rename(hidden, os.path.join(self.input, name))

    def run_stream(self, frame: Any, mode: str = "append", **options: str) -> None:
        """Write all that is there, from where the last run ended."""
        writer = frame.writeStream.format("kafkatx").options(**self.options(topic=self.topic, **options))
        writer = writer.option("checkpointLocation", os.path.join(self.folder, "checkpoint"))
        query = writer.queryName(f"q{id(self)}").outputMode(mode).trigger(availableNow=True).start()
        self.addCleanup(query.stop)
        self.assertTrue(query.awaitTermination(int(DEADLINE_S)))

    def lines(self) -> Any:
        """The lines as a stream."""
        return shared_spark().readStream.text(self.input)

    def test_restart(self) -> None:
        """A query that is started again goes on: every row is there once."""
        self.add("a", "1", "2")
        self.run_stream(self.lines())
        self.assertEqual(self.values(self.topic), [b"1", b"2"])
        self.add("b", "3")
        self.add("c", "4", "5")
        self.run_stream(self.lines(), kafka_linger_ms="5")
        self.assertEqual(self.values(self.topic), [b"1", b"2", b"3", b"4", b"5"])

    def test_complete(self) -> None:
        """In complete mode, too, what a trigger gives is appended."""
        counts = self.lines().groupBy("value").count()
        self.add("a", "x", "x", "y")
        self.run_stream(counts.selectExpr("value AS key", "cast(count AS string) value"), "complete")
        self.assertEqual(self.values(self.topic), [b"1", b"2"])

    def test_refused(self) -> None:
        """Wrong columns and failed deliveries end the query, with the reason."""
        from pyspark.errors import PySparkException

        self.add("a", "x" * 2000)
        error = self.assertRaises(PySparkException, self.run_stream, self.lines().selectExpr("value AS v"))
        self.assertIn("Required attribute 'value' not found", str(error))
        self.topic = self.create(1, max_message_bytes="1000")
        error = self.assertRaises(PySparkException, self.run_stream, self.lines())
        self.assertIn(f"{self.topic} [0]: a message of 2000 bytes is above", str(error))


def slowly(number: int) -> int:
    """The number, after a while."""
    time.sleep(0.0005)
    return number


def read_by_librdkafka(bootstrap: str, topic: str, partition: int, count: int) -> list[Any]:
    """The first messages of a partition, by confluent-kafka."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, 0)])
    messages: list[Any] = consumer.consume(count, timeout=DEADLINE_S)
    consumer.close()
    return messages
