"""``spark.read.format("kafkatx")`` against a real broker, in a real Spark."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

import pyspark
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Writer
from kafkatx.records.builder import BatchBuilder
from kafkatx.spark import KafkaSource
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.integration.clients import new_topic
from tests.integration.raw import RawClient
from tests.integration.shared import shared_broker
from tests.integration.spark import shared_spark, spark_log

MOMENT_MS = 1_431_857_103_250
MOMENT = datetime(2015, 5, 17, 10, 5, 3, 250_000, tzinfo=timezone.utc)
DEADLINE_S = 30.0


class SparkTestCase(SynchronousTestCase):
    """A cluster, and an unused topic name."""

    def setUp(self) -> None:
        """Connect."""
        self.bootstrap = shared_broker().bootstrap
        self.cluster = Cluster(self.bootstrap)
        self.addCleanup(self.cluster.close)
        self.topic = new_topic()

    def create(self, partitions: int = 1, topic: str | None = None, **configs: str) -> None:
        """Create a topic; configs with ``_`` for ``.``."""
        named = {name.replace("_", "."): value for name, value in configs.items()}
        Admin(self.cluster).create_topic(topic or self.topic, partitions, configs=named)

    def write(
        self, values: Iterable[bytes], partition: int = 0, topic: str | None = None, **how: Any
    ) -> None:
        """Write values, one by one."""
        with Writer(self.cluster, topic or self.topic, **how) as writer:
            for value in values:
                writer.send(value, partition=partition)

    def load(self, **options: str) -> Any:
        """A DataFrame of the topic; options with ``_`` for ``.``."""
        named = {name.replace("_", "."): value for name, value in options.items()}
        if not {"subscribe", "subscribePattern", "assign"} & set(named):
            named["subscribe"] = self.topic
        reader = shared_spark().read.format("kafkatx").option("kafka.bootstrap.servers", self.bootstrap)
        return reader.options(**named).load()

    def values(self, **options: str) -> list[bytes]:
        """The topic's values, by partition and offset."""
        rows = self.load(**options).orderBy("topic", "partition", "offset").select("value").collect()
        return [bytes(row.value) for row in rows]

    def refused(self, **options: str) -> str:
        """Return the message of a query that cannot be run."""
        from pyspark.errors import PySparkException

        said = str(self.assertRaises(PySparkException, lambda: self.load(**options).collect()))
        self.assertNotIn("Traceback", said)
        return said


class ColumnTests(SparkTestCase):
    def test_types(self) -> None:
        """Columns and types are those that Spark documents for its Kafka source."""
        self.create()
        self.assertEqual(
            self.load(includeHeaders="true").dtypes,
            [
                ("key", "binary"),
                ("value", "binary"),
                ("topic", "string"),
                ("partition", "int"),
                ("offset", "bigint"),
                ("timestamp", "timestamp"),
                ("timestampType", "int"),
                ("headers", "array<struct<key:string,value:binary>>"),
            ],
        )
        self.assertNotIn("headers", self.load().columns)

    def test_every_field(self) -> None:
        """A record arrives as it was sent: key, value, null and empty, time, headers."""
        self.create(partitions=2)
        every_byte = bytes(range(256))
        with Writer(self.cluster, self.topic) as writer:
            headers = [("a", b"1"), ("b", None), ("a", every_byte)]
            writer.send(every_byte, b"k", 1, headers=headers, timestamp_ms=MOMENT_MS)
            writer.send(None, None, 1, timestamp_ms=0)
        with RawClient(shared_broker().bootstrap) as client:  # no producer of ours sends a negative time
            builder = BatchBuilder()
            builder.append(b"", b"", -1)
            data = [TopicProduceData(self.topic, [PartitionProduceData(1, builder.build())])]
            client.ask(0, 9, ProduceRequest(None, -1, 30_000, data))
        rows = self.load(includeHeaders="true").selectExpr("*", "unix_micros(timestamp) AS us").collect()
        rows.sort(key=lambda row: row.offset)
        self.assertEqual([row.key and bytes(row.key) for row in rows], [b"k", None, b""])
        self.assertEqual([row.value and bytes(row.value) for row in rows], [every_byte, None, b""])
        self.assertEqual(
            {(row.topic, row.partition, row.timestampType) for row in rows}, {(self.topic, 1, 0)}
        )
        self.assertEqual([row.offset for row in rows], [0, 1, 2])
        self.assertEqual([row.us for row in rows], [int(MOMENT.timestamp() * 1_000_000), 0, -1000])
        found = [(header.key, header.value and bytes(header.value)) for header in rows[0].headers]
        self.assertEqual(found, headers)
        self.assertEqual([row.headers for row in rows[1:]], [None, None])

    def test_log_append_time(self) -> None:
        """A topic that the broker stamps has its time, and type 1."""
        self.create(message_timestamp_type="LogAppendTime")
        with Writer(self.cluster, self.topic) as writer:
            writer.send(b"v", timestamp_ms=0)
        (row,) = self.load().selectExpr("timestampType", "unix_millis(timestamp) AS ms").collect()
        self.assertEqual(row.timestampType, 1)
        self.assertLess(abs(row.ms / 1000 - time.time()), DEADLINE_S)

    def test_codecs(self) -> None:
        """Batches of each codec are read."""
        self.create()
        codecs = ["none", "gzip", "snappy", "lz4", "zstd"]
        for codec in codecs:
            self.write([codec.encode() * 50] * 20, compression=codec)
        self.assertEqual(self.values(), [codec.encode() * 50 for codec in codecs for _ in range(20)])

    def test_sql(self) -> None:
        """The source can be named in SQL, in any case."""
        self.create()
        self.write([b"a", b"b"])
        options = f"'kafka.bootstrap.servers' '{self.bootstrap}', subscribe '{self.topic}'"
        shared_spark().sql(f"CREATE OR REPLACE TEMPORARY VIEW seen USING KafkaTX OPTIONS ({options})")
        (row,) = shared_spark().sql("SELECT max(offset), count(*) FROM seen").collect()
        self.assertEqual(tuple(row), (1, 2))


class SelectionTests(SparkTestCase):
    def setUp(self) -> None:
        """Two topics with a common beginning, one of them with two partitions."""
        super().setUp()
        self.other = f"{self.topic}-other"
        self.create(partitions=2)
        self.create(topic=self.other)
        self.write([b"a0"], 0)
        self.write([b"a1"], 1)
        self.write([b"b"], topic=self.other)

    def test_subscribe(self) -> None:
        """Several topics are read as one table."""
        self.assertEqual(self.values(subscribe=f"{self.topic}, {self.other}"), [b"a0", b"a1", b"b"])

    def test_pattern(self) -> None:
        """Every topic whose name matches is read; no match is an empty table."""
        self.assertEqual(self.values(subscribePattern=f"^{self.topic}"), [b"a0", b"a1", b"b"])
        self.assertEqual(self.values(subscribePattern=f"{self.other}$"), [b"b"])
        self.assertEqual(self.values(subscribePattern="^no-such-topic-.*"), [])

    def test_assign(self) -> None:
        """Single partitions are read; one that is not there is an error."""
        assign = json.dumps({self.topic: [1], self.other: [0]})
        self.assertEqual(self.values(assign=assign), [b"a1", b"b"])
        self.assertIn("has no partition 7", self.refused(assign=json.dumps({self.topic: [7]})))


class OffsetTests(SparkTestCase):
    def test_boundaries(self) -> None:
        """Offsets by partition are first included and last excluded; -2 and -1 are the log's ends."""
        self.create(partitions=2)
        for partition in (0, 1):
            self.write([b"%d-%d" % (partition, n) for n in range(10)], partition)
        found = self.values(
            startingOffsets=json.dumps({self.topic: {"0": 7, "1": -2}}),
            endingOffsets=json.dumps({self.topic: {"0": -1, "1": 2}}),
        )
        self.assertEqual(found, [b"0-7", b"0-8", b"0-9", b"1-0", b"1-1"])

    def test_within_batches(self) -> None:
        """A boundary inside of a stored batch cuts it."""
        self.create()
        self.write([b"%d" % n for n in range(1000)], compression="lz4")
        offsets = {"startingOffsets": f'{{"{self.topic}":{{"0":499}}}}'}
        offsets["endingOffsets"] = f'{{"{self.topic}":{{"0":502}}}}'
        self.assertEqual(self.values(**offsets), [b"499", b"500", b"501"])

    def test_empty(self) -> None:
        """A topic without records, and a range without offsets, are tables without rows; also in Parquet."""
        self.create(partitions=3)
        folder = os.path.abspath(self.mktemp())
        self.load().write.parquet(folder)
        written = shared_spark().read.parquet(folder)
        self.assertEqual((written.count(), written.columns), (0, self.load().columns))
        offsets = json.dumps({self.topic: dict.fromkeys("012", 0)})
        self.assertEqual(self.values(startingOffsets=offsets, endingOffsets=offsets), [])

    def test_fixed_when_planned(self) -> None:
        """Records written after a query was planned are not in it; the next query has them."""
        self.create()
        self.write([b"a"])
        planned = plan(self.load())
        self.write([b"b"])
        self.assertEqual([bytes(row.value) for row in planned.collect()], [b"a"])
        self.assertEqual(self.values(), [b"a", b"b"])

    def test_fixed_by_load(self) -> None:
        """All actions of one load() read the same records, since PySpark 4.1; another load() reads on."""
        self.create()
        self.write([b"a"])
        loaded = self.load()
        self.assertEqual(loaded.count(), 1)
        self.write([b"b"])
        again = 1 if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1) else 2
        self.assertEqual(loaded.count(), again)
        self.assertEqual(len(loaded.filter("offset >= 0").collect()), again)
        self.assertEqual(self.load().count(), 2)


class TaskTests(SparkTestCase):
    def tasks(self, **options: str) -> dict[int, list[tuple[int, int]]]:
        """For each task of Spark the partitions and offsets that it has read."""
        rows = (
            self.load(**options).selectExpr("spark_partition_id() AS task", "partition", "offset").collect()
        )
        found: dict[int, list[tuple[int, int]]] = {}
        for row in rows:
            found.setdefault(row.task, []).append((row.partition, row.offset))
        return found

    def test_one_task_a_partition(self) -> None:
        """Each partition is read by a task of its own, in order of offsets."""
        self.create(partitions=3)
        for partition in range(3):
            self.write([b"v"] * 5, partition)
        tasks = sorted(self.tasks().values())
        self.assertEqual(tasks, [[(partition, n) for n in range(5)] for partition in range(3)])

    def test_min_partitions(self) -> None:
        """A large partition is read by several tasks; together they have each offset once."""
        self.create(partitions=2)
        self.write([b"v"] * 90, 0)
        self.write([b"v"] * 10, 1)
        tasks = self.tasks(minPartitions="5")
        self.assertEqual(len(tasks), 5)
        together = sorted(item for items in tasks.values() for item in items)
        self.assertEqual(together, [(0, n) for n in range(90)] + [(1, n) for n in range(10)])

    def test_bounded_batches(self) -> None:
        """However large a partition is, it comes in batches of at most 64 Ki rows and about 32 MiB."""
        self.create()
        with Writer(self.cluster, self.topic) as writer:
            writer.send_lines(b"" for _ in range(300_000))
            for _ in range(60):
                writer.send(b"x" * 900_000)
        reader = self.reader()
        (task,) = reader.partitions()
        batches = list(reader.read(task))
        self.assertEqual(sum(batch.num_rows for batch in batches), 300_060)
        self.assertLessEqual(max(batch.num_rows for batch in batches), 65_536)
        self.assertLess(max(batch.nbytes for batch in batches), 33 << 20)
        self.assertEqual(self.load().count(), 300_060)

    def reader(self) -> Any:
        """Return the partitions that Spark would plan, without Spark."""
        source = KafkaSource({"kafka.bootstrap.servers": self.bootstrap, "subscribe": self.topic})
        return source.reader(source.schema())


class DataLossTests(SparkTestCase):
    def out_of_range(self) -> dict[str, str]:
        """Options that name offsets which the topic does not have."""
        return {
            "startingOffsets": json.dumps({self.topic: {"0": 1}}),
            "endingOffsets": json.dumps({self.topic: {"0": 9}}),
        }

    def test_out_of_range(self) -> None:
        """Offsets that are not there fail the query, with topic, partition and offsets in the message."""
        self.create()
        self.write([b"a", b"b", b"c"])
        said = self.refused(**self.out_of_range())
        self.assertIn(f"{self.topic} [0] offsets 1 to 9 cannot be read: the log has 0 to 3", said)

    def test_out_of_range_is_a_warning(self) -> None:
        """With failOnDataLoss=false what is there is read, and a warning is logged."""
        self.create()
        self.write([b"a", b"b", b"c"])
        self.assertEqual(self.values(**self.out_of_range(), failOnDataLoss="false"), [b"b", b"c"])
        self.assertIn(
            f"{self.topic} [0] offsets 1 to 9 cannot be read", spark_log().read_text(errors="replace")
        )

    def test_topic_deleted_while_running(self) -> None:
        """A topic that goes between planning and reading fails the query, or ends it with a warning."""
        from pyspark.errors import PySparkException

        self.create()
        self.write([b"a"])
        failing, warning = (plan(self.load(failOnDataLoss=fails)) for fails in ("true", "false"))
        Admin(self.cluster).delete_topic(self.topic)
        lost = f"{self.topic} [0] offsets 0 to 1 cannot be read"
        self.assertIn(lost, str(self.assertRaises(PySparkException, failing.collect)))
        self.assertEqual(warning.collect(), [])
        self.assertIn(f"{lost}: there is no topic", spark_log().read_text(errors="replace"))


class RetentionTests(SparkTestCase):
    def setUp(self) -> None:
        """A broker that looks for old segments all the time."""
        super().setUp()
        broker = EmbeddedBroker({"log.retention.check.interval.ms": "50"})
        self.bootstrap = broker.start().bootstrap
        self.addCleanup(broker.__exit__, None, None, None)
        self.cluster = Cluster(self.bootstrap)
        self.addCleanup(self.cluster.close)

    def test_aged_out(self) -> None:
        """Records deleted by retention are data loss if asked for by offset, and ignored otherwise."""
        self.create(segment_bytes="100000", retention_bytes="200000")
        for _ in range(20):
            self.write([b"x" * 1000] * 50)
        earliest = self.wait_for_retention()
        self.assertEqual(self.load().count(), 1000 - earliest)
        from_zero = json.dumps({self.topic: {"0": 0}})
        said = self.refused(startingOffsets=from_zero)
        self.assertIn(
            f"{self.topic} [0] offsets 0 to 1000 cannot be read: the log has {earliest} to 1000", said
        )
        found = self.load(startingOffsets=from_zero, failOnDataLoss="false").count()
        self.assertEqual(found, 1000 - earliest)

    def wait_for_retention(self) -> int:
        """The log's start, once it has moved and stays."""
        deadline = time.monotonic() + DEADLINE_S
        earliest = 0
        while time.monotonic() < deadline:
            before, earliest = earliest, self.cluster.offsets(self.topic, {0: -2})[0][0]
            if 0 < earliest == before:
                return earliest
            time.sleep(0.2)
        raise AssertionError("nothing was taken away")


class ErrorTests(SparkTestCase):
    def test_options(self) -> None:
        """A wrong option is told at load, with its name and what to do."""
        said = self.refused(subscribe="t", startingOffset="earliest")
        self.assertIn("unknown option startingoffset: did you mean startingOffsets?", said)
        self.assertIn("startingOffsets can't be latest", self.refused(startingOffsets="latest"))
        self.assertIn("'auto.offset.reset' is not supported", self.refused(kafka_auto_offset_reset="latest"))

    def test_no_such_topic(self) -> None:
        """A topic that is not there is an error that names it; it is not created."""
        self.assertIn(f"there is no topic '{self.topic}'", self.refused())
        self.assertNotIn(self.topic, [topic.name for topic in Admin(self.cluster).list_topics()])

    def test_no_broker(self) -> None:
        """The message names the address when no broker answers."""
        self.bootstrap = "127.0.0.1:1"
        self.assertIn("127.0.0.1:1", self.refused())

    def test_schema_of_the_users_own(self) -> None:
        """The columns are fixed."""
        from pyspark.errors import PySparkException

        self.create()
        reader = shared_spark().read.format("kafkatx").schema("value string")
        frame = (
            reader.option("kafka.bootstrap.servers", self.bootstrap).option("subscribe", self.topic).load()
        )
        self.assertIn("fixed schema", str(self.assertRaises(PySparkException, frame.collect)))


def plan(frame: Any) -> Any:
    """The RDD of a query: Spark has planned it now, and what it collects later goes by that plan."""
    planned = frame.rdd
    planned.getNumPartitions()
    return planned


class LoginTests(SynchronousTestCase):
    """A broker whose clients have to log in."""

    def test_login(self) -> None:
        """Source and sink log in, in the driver and the workers; the password is in no plan and no log."""
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        users = f'{module} required username="b" password="b" user_b="b" user_alice="sesame-7";'
        settings = {
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": users,
        }
        with EmbeddedBroker(settings) as broker:
            options = {
                "kafka.bootstrap.servers": broker.bootstrap,
                "kafka.security.protocol": "SASL_PLAINTEXT",
                "kafka.sasl.mechanism": "PLAIN",
                "kafka.sasl.jaas.config": f'{module} required username="alice" password="sesame-7";',
            }
            spark = shared_spark()
            frame = spark.createDataFrame([(b"one",), (b"two",)], "value binary")
            frame.write.format("kafkatx").options(**options).option("topic", "t").mode("append").save()
            read = spark.read.format("kafkatx").options(**options).option("subscribe", "t").load()
            self.assertEqual(sorted(bytes(row.value) for row in read.collect()), [b"one", b"two"])
            plans = read._jdf.queryExecution().toString()
            self.assertIn("kafkatx", plans.lower())
            wrong = {
                **options,
                "kafka.sasl.jaas.config": f'{module} required username="alice" password="sesame-8";',
            }
            failing = spark.read.format("kafkatx").options(**wrong).option("subscribe", "t").load()
            from pyspark.errors import PySparkException

            error = str(self.assertRaises(PySparkException, failing.collect))
            self.assertIn("the broker refuses the login by PLAIN", error)
            for text in (plans, error, spark_log().read_text(), broker.log.text()):
                self.assertNotIn("sesame", text)
