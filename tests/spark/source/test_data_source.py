"""The data source as Spark calls it, without Spark."""

from __future__ import annotations

import pickle
import subprocess
import sys

from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.types import StringType, StructField, StructType
from twisted.trial.unittest import SynchronousTestCase

import pyspark_kafkatx
from kafkatx.errors import SettingError
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.source import plan
from kafkatx.spark.source.data_source import KafkaSource, spark_schema
from kafkatx.spark.source.partition_reader import TopicRange
from tests.spark.fakes import FakeCluster
from tests.test_readme import ROOT

WITHOUT_TWISTED = """
import sys
import pyspark_kafkatx
light = sorted(name for name in sys.modules if name.partition(".")[0] in ("pyarrow", "kafkatx"))
import kafkatx.spark.arrow.columns, kafkatx.spark.source.plan, kafkatx.spark.source.range_reader
assert not any(name.partition(".")[0] in ("twisted", "zope", "rich", "click") for name in sys.modules)
print(*light)
"""


def source(**options: str) -> KafkaSource:
    """A source as Spark makes it; bootstrap servers are given."""
    return KafkaSource(CaseInsensitiveDict({"kafka.bootstrap.servers": "127.0.0.1:1", **options}))


class KafkaSourceTests(SynchronousTestCase):
    def test_found_by_spark(self) -> None:
        """The module that Spark looks for holds the source, under the name that format() is given."""
        self.assertIs(pyspark_kafkatx.DefaultSource, KafkaSource)
        self.assertEqual(KafkaSource.name(), "kafkatx")

    def test_columns(self) -> None:
        """Names and types are those of Spark's own Kafka source."""
        self.assertEqual(
            source(subscribe="t", includeHeaders="true").schema().simpleString(),
            "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
            "timestampType:int,headers:array<struct<key:string,value:binary>>>",
        )
        self.assertNotIn("headers", source(subscribe="t").schema().fieldNames())

    def test_options_are_checked_at_load(self) -> None:
        """A wrong option is an error when Spark asks for the schema, before any query runs."""
        self.assertRaises(SettingError, source(subscribe="t", minPartitions="none").schema)

    def test_schema_of_the_users_own(self) -> None:
        """Another schema is refused; the source's own may be given."""
        own = StructType([StructField("value", StringType())])
        error = self.assertRaises(SettingError, source(subscribe="t").reader, own)
        self.assertIn("fixed schema", str(error))
        source(subscribe="t").reader(spark_schema(False))

    def test_pickled(self) -> None:
        """Source, reader and partitions survive the way to the workers."""
        made = source(subscribe="t")
        reader = pickle.loads(pickle.dumps(made)).reader(spark_schema(False))
        pickle.loads(pickle.dumps(reader))
        wanted = OffsetRange("t", 0, 1, 2)
        self.assertEqual(pickle.loads(pickle.dumps(TopicRange(wanted))).value, wanted)


class TopicReaderTests(SynchronousTestCase):
    def test_partitions(self) -> None:
        """Spark gets a list, with a task for each range."""
        self.patch(plan, "connect", lambda client: FakeCluster({"t": [(0, 5), (2, 9)]}))
        partitions = source(subscribe="t").reader(spark_schema(False)).partitions()
        self.assertIsInstance(partitions, list)
        self.assertEqual([item.value for item in partitions], [("t", 0, 0, 5), ("t", 1, 2, 9)])

    def test_warnings(self) -> None:
        """Options that have no effect in a batch are told when it is planned."""
        self.patch(plan, "connect", lambda client: FakeCluster({"t": [(0, 5)]}))
        reader = source(subscribe="t", maxOffsetsPerTrigger="1").reader(spark_schema(False))
        with self.assertLogs("kafkatx.spark.source.data_source", "WARNING") as logged:
            reader.partitions()
        self.assertIn("maxOffsetsPerTrigger option ignored in batch queries", logged.output[0])

    def test_empty(self) -> None:
        """Spark makes one task with None of an empty list; it reads nothing, and connects to no broker."""
        reader = source(subscribe="t").reader(spark_schema(False))
        self.assertEqual(list(reader.read(InputPartition(None))), [])


class ImportTests(SynchronousTestCase):
    def test_workers_need_no_twisted(self) -> None:
        """Neither driver nor workers import Twisted or terminal code; Spark's look-up not even pyarrow."""
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_TWISTED], cwd=ROOT, capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("pyarrow", done.stdout)
        self.assertNotIn("kafkatx.blocking", done.stdout)
