"""Tests of kafkatx.spark.sink.writers: what Spark is given, and how it calls it."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import ArrayType, StructType
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.sender import WriteTotals
from kafkatx.errors import SettingError
from kafkatx.spark.sink import task, writers
from kafkatx.spark.source.data_source import KafkaSource
from tests.blocking.fakes import FakeCluster, Log

SCHEMA = StructType().add("key", "string").add("value", "binary")
HEADERS = ArrayType(StructType().add("key", "string").add("value", "binary"))


def source(**options: str) -> KafkaSource:
    """A source as Spark makes it; bootstrap servers are given."""
    return KafkaSource(CaseInsensitiveDict({"kafka.bootstrap.servers": "127.0.0.1:1", **options}))


class WriterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A topic."""
        self.fake = FakeCluster({"t": [Log()]})
        self.patch(task, "connect", lambda settings: self.fake.client())

    def written(self, writer: Any, batches: Any) -> tuple[int, int]:
        """Write with a writer that was pickled; return the records and bytes that it reports."""
        message = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(writer)).write(batches)))
        self.assertIsInstance(message, WriterCommitMessage)
        self.assertEqual(self.fake.topics["t"][0].end, message.records)
        return message.records, message.bytes

    def test_batch(self) -> None:
        """Spark gets a writer that takes Arrow."""
        writer = source(topic="t").writer(SCHEMA, False)
        self.assertIsInstance(writer, DataSourceArrowWriter)
        batch = pa.record_batch({"key": ["a", None], "value": [b"bc", b"d"]})
        self.assertEqual(self.written(writer, iter([batch])), (2, 4))
        writer.commit([writers.Delivered(WriteTotals())])
        writer.abort([None])

    def test_stream(self) -> None:
        """Spark gets a writer that takes Arrow; in every output mode, what a trigger gives is appended."""
        for overwrite in (False, True):
            writer = source(topic="t").streamWriter(SCHEMA, overwrite)
            self.assertIsInstance(writer, DataSourceStreamWriter)
            self.assertNotIsInstance(writer, writers.RowStreamTopicWriter)
        batch = pa.record_batch({"key": ["a", None], "value": [b"bc", b"d"]})
        self.assertEqual(self.written(writer, iter([batch])), (2, 4))
        writer.commit([writers.Delivered(WriteTotals())], 0)
        writer.abort([None], 0)

    def test_stream_of_rows(self) -> None:
        """Rows are written where Spark has no Arrow for streams, as Spark 4.0."""
        self.patch(writers, "_STREAM_ARROW_WRITER", None)
        writer = source(topic="t").streamWriter(SCHEMA, False)
        self.assertEqual(
            self.written(writer, iter([Row(key="a", value=b"bc"), Row(key=None, value=b"d")])), (2, 4)
        )

    def test_overwrite(self) -> None:
        """A topic is not replaced."""
        error = self.assertRaises(SettingError, source(topic="t").writer, SCHEMA, True)
        self.assertIn("Save mode overwrite not allowed for Kafka", str(error))

    def test_checked_on_the_driver(self) -> None:
        """Wrong options and columns are errors before any task runs."""
        for make in (lambda s: s.writer(SCHEMA, False), lambda s: s.streamWriter(SCHEMA, False)):
            self.assertRaises(SettingError, make, source())
            self.assertRaises(SettingError, make, source(topic="t", tpoic="t"))


class ArrowBatchesTests(SynchronousTestCase):
    def test_every_type(self) -> None:
        """Rows of every column become what Spark makes of them."""
        schema = StructType().add("value", "binary").add("partition", "integer").add("headers", HEADERS)
        row = Row(value=bytearray(b"v"), partition=3, headers=[Row(key="a", value=bytearray(b"b"))])
        (batch,) = writers.arrow_batches(iter([row, Row(value=None, partition=None, headers=None)]), schema)
        self.assertEqual(
            batch.to_pylist(),
            [
                {"value": b"v", "partition": 3, "headers": [{"key": "a", "value": b"b"}]},
                {"value": None, "partition": None, "headers": None},
            ],
        )

    def test_bounded(self) -> None:
        """Rows come in batches of bounded size; none at all is no batch."""
        self.patch(writers, "_ROWS", 2)
        rows = (Row(key=str(n), value=b"") for n in range(5))
        found = [batch.num_rows for batch in writers.arrow_batches(rows, SCHEMA)]
        self.assertEqual(found, [2, 2, 1])
        self.assertEqual(list(writers.arrow_batches([], SCHEMA)), [])
