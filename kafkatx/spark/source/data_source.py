"""The data source ``kafkatx`` of PySpark: a drop-in for Spark's own Kafka source and sink, without a jar.

Spark makes a :class:`KafkaSource` on the driver, in a process of its own, and asks its reader for partitions;
reader and partitions are pickled to the workers. kafkatx must be installed where these run. Docs:
``docs/spark.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkatx.errors import SettingError
from kafkatx.spark.one_sentence import one_sentence
from kafkatx.spark.options.options import SourceOptions, parse_batch, parse_headers, parse_stream
from kafkatx.spark.source.partition_reader import TopicRange, read_partition

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from kafkatx.spark.sink.writers import BatchTopicWriter, RowStreamTopicWriter, StreamTopicWriter
    from kafkatx.spark.source.stream_reader import RefusedStreamReader, TopicStreamReader

NAME = "kafkatx"

log = logging.getLogger(__name__)

_FIELDS = [
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
]
_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


def spark_schema(include_headers: bool) -> StructType:
    """Return the columns of Spark's own Kafka source.

    :mod:`kafkatx.spark.arrow.columns` has them for Arrow.
    """
    return StructType([*_FIELDS, StructField("headers", ArrayType(_HEADER))] if include_headers else _FIELDS)


class KafkaSource(DataSource):  # type: ignore[misc]  # pyspark is not type-checked (pyproject.toml)
    """``spark.read.format("kafkatx")``, and the same of ``readStream``, ``write`` and ``writeStream``."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format()``; Spark keeps ``kafka`` for its own."""
        return NAME

    @one_sentence()
    def schema(self) -> StructType:
        """Return the columns, after the options have been checked.

        :raises SettingError: an option is unknown, missing or has a bad value.
        """
        return spark_schema(parse_headers(self.options))

    @one_sentence()
    def reader(self, schema: StructType) -> TopicReader:
        """Return a reader of what the options select.

        :raises SettingError: as :meth:`schema`; or a schema of the user's own was given.
        """
        options = parse_batch(self.options)
        _check_schema(schema, options)
        return TopicReader(options)

    def streamReader(self, schema: StructType) -> TopicStreamReader | RefusedStreamReader:
        """Return a reader of what the options select, batch after batch.

        Where :meth:`reader` would raise, the error comes with the reader's first call: Spark loses an error
        that is raised here, as it then stops a reader that it does not have.
        """
        from kafkatx.spark.source.stream_reader import RefusedStreamReader, TopicStreamReader

        try:
            options = parse_stream(self.options)
            _check_schema(schema, options)
        except SettingError as error:
            return RefusedStreamReader(error)
        return TopicStreamReader(options)

    @one_sentence()
    def writer(self, schema: StructType, overwrite: bool) -> BatchTopicWriter:
        """Return a writer of a batch; raises as :func:`kafkatx.spark.sink.writers.batch_writer`."""
        from kafkatx.spark.sink.writers import batch_writer

        return batch_writer(self.options, schema, overwrite)

    @one_sentence()
    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamTopicWriter | RowStreamTopicWriter:
        """Return a writer of a stream; raises as :func:`kafkatx.spark.sink.writers.stream_writer`."""
        from kafkatx.spark.sink.writers import stream_writer

        return stream_writer(self.options, schema)


def _check_schema(schema: StructType, options: SourceOptions) -> None:
    fixed = spark_schema(options.include_headers)
    if schema != fixed:
        raise SettingError(
            f"{NAME} has a fixed schema and cannot be set with a custom one: leave .schema(...) out, "
            f"and select from {', '.join(fixed.fieldNames())}"
        )


class TopicReader(DataSourceReader):  # type: ignore[misc]  # as above
    """The reader of a batch: it fixes the offsets on the driver and reads them in the workers."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    @one_sentence()
    def partitions(self) -> list[TopicRange]:
        """Return one for each range of offsets; fixed here, so that a task that is run again reads the same.

        :raises KafkaTXError: as :func:`kafkatx.spark.source.plan.plan_batch`.
        """
        from kafkatx.spark.source.partition_logs import PartitionLogs

        for warning in self._options.warnings:
            log.warning("%s", warning)
        with PartitionLogs(self._options) as logs:
            return [TopicRange(item) for item in logs.batch()]

    def read(self, partition: TopicRange) -> Iterator[RecordBatch]:
        """Yield the records of one range; raises as :func:`read_partition`."""
        return read_partition(self._options, partition)
