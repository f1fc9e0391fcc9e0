"""The writers of batches and streams: made on the driver, pickled, and called in the workers.

Spark 4.0 gives Arrow to writers of batches only; there, streams are written from rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kafkatx.errors import SettingError
from kafkatx.spark.one_sentence import one_sentence
from kafkatx.spark.sink.options import SinkOptions, parse_sink
from kafkatx.spark.sink.schema import SinkColumns, sink_columns

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import Row

    from kafkatx.blocking.producer.sender import WriteTotals

_ROWS = 10_000
_STREAM_ARROW_WRITER: type | None = getattr(datasource, "DataSourceStreamArrowWriter", None)


class Delivered(WriterCommitMessage):  # type: ignore[misc]  # pyspark is not type-checked (pyproject.toml)
    """The records and bytes that a task has written; ``bytes`` counts keys and values."""

    def __init__(self, written: WriteTotals) -> None:
        self.records = written.records
        self.bytes = written.bytes


class _TopicWriter:
    """A writer of rows; there is nothing to commit, and nothing that could be taken back."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns

    @one_sentence()
    def write(self, iterator: Iterator[RecordBatch]) -> Delivered:
        """Write one task's rows.

        :raises KafkaTXError: as :func:`kafkatx.spark.sink.task.write`.
        """
        from kafkatx.spark.sink.task import write

        return Delivered(write(self._options, self._columns, iterator))


class BatchTopicWriter(_TopicWriter, DataSourceArrowWriter):  # type: ignore[misc]  # as above
    """The writer of ``df.write``."""


class StreamTopicWriter(_TopicWriter, _STREAM_ARROW_WRITER or datasource.DataSourceStreamWriter):  # type: ignore[misc]
    """The writer of ``df.writeStream``, from Arrow."""


class RowStreamTopicWriter(_TopicWriter, datasource.DataSourceStreamWriter):  # type: ignore[misc]  # as above
    """The writer of ``df.writeStream``, from rows."""

    def __init__(self, options: SinkOptions, columns: SinkColumns, schema: StructType) -> None:
        super().__init__(options, columns)
        self._schema = schema

    def write(self, iterator: Iterator[Row]) -> Delivered:
        """Write one task's ``pyspark.sql.Row`` objects; raises as :meth:`StreamTopicWriter.write`."""
        return super().write(arrow_batches(iterator, self._schema))


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchTopicWriter:
    """Return the writer of a batch.

    :param overwrite: True if the mode is ``overwrite``.
    :raises SettingError: an option, the schema or the mode is not possible.
    """
    parsed = parse_sink(options)
    if overwrite:
        raise SettingError(
            "Save mode overwrite not allowed for Kafka: a topic cannot be replaced; use append"
        )
    # The brokers are not asked here: tasks wait for those that are away when the query starts.
    return BatchTopicWriter(parsed, sink_columns(schema, parsed.topic))


def stream_writer(options: Mapping[str, str], schema: StructType) -> StreamTopicWriter | RowStreamTopicWriter:
    """Return the writer of a stream; it appends the rows of each trigger, whatever the output mode.

    :raises SettingError: an option or the schema is not possible.
    """
    parsed = parse_sink(options)
    columns = sink_columns(schema, parsed.topic)
    if _STREAM_ARROW_WRITER is None:
        return RowStreamTopicWriter(parsed, columns, schema)
    return StreamTopicWriter(parsed, columns)


def arrow_batches(rows: Iterable[Row], schema: StructType) -> Iterator[RecordBatch]:
    """Convert rows to the ``pyarrow.RecordBatch`` objects that Spark would have made of them."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    arrow = to_arrow_schema(schema)
    rows = iter(rows)
    while some := list(islice(rows, _ROWS)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, arrow, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=arrow)
