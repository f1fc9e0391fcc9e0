"""The writers of batches and streams: made on the driver, pickled, and called in the workers.

Spark 4.0 gives Arrow to writers of batches only; there, streams are written from rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from kafkatx.errors import SettingError
from kafkatx.spark.one_sentence import one_sentence
from kafkatx.spark.sink.exactly_once.delivery import ExactlyOnce
from kafkatx.spark.sink.options import EXACTLY_ONCE, SinkOptions, parse_sink
from kafkatx.spark.sink.schema import sink_columns
from kafkatx.spark.sink.shipped import Shipped

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import Row

    from kafkatx.blocking.producer.sender import WriteTotals
    from kafkatx.spark.sink.exactly_once.attempt import Attempt
    from kafkatx.spark.sink.schemas.message_columns import Encodings

_ROWS = 10_000
_STREAM_ARROW_WRITER: type | None = getattr(datasource, "DataSourceStreamArrowWriter", None)


class Delivered(WriterCommitMessage):  # type: ignore[misc]  # pyspark is not type-checked (pyproject.toml)
    """The records and bytes that a task has written; ``bytes`` counts keys and values.

    :ivar attempt: with ``exactlyOnce=true`` what the task has left for the commit.
    """

    def __init__(self, written: WriteTotals, attempt: Attempt | None = None) -> None:
        self.records = written.records
        self.bytes = written.bytes
        self.attempt = attempt


class _TopicWriter:
    """A writer of rows; at least once there is nothing to commit, and nothing that could be taken back."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options = options
        self._columns = sink_columns(schema, options.topic, options.encoded)
        self._encodings = _encodings(options, schema) if options.encoded else None
        self._exactly_once = ExactlyOnce(options) if options.exactly_once else None

    @one_sentence()
    def write(self, iterator: Iterator[RecordBatch]) -> Delivered:
        """Write one task's rows.

        :raises KafkaTXError: as :func:`kafkatx.spark.sink.task.write`.
        """
        from kafkatx.spark.sink.schemas.message_columns import NO_ENCODINGS

        encodings = NO_ENCODINGS if self._encodings is None else self._encodings.get()
        if self._exactly_once is not None:
            attempt = self._exactly_once.write(self._columns, iterator, encodings)
            return Delivered(attempt.totals, attempt)
        from kafkatx.spark.sink.task import write

        return Delivered(write(self._options, self._columns, iterator, encodings))


class BatchTopicWriter(_TopicWriter, DataSourceArrowWriter):  # type: ignore[misc]  # as above
    """The writer of ``df.write``."""


class _StreamWriter(_TopicWriter):
    """A writer of micro-batches."""

    @one_sentence()
    def commit(self, messages: Sequence[Delivered | None], batchId: int) -> None:
        """Commit what the tasks of a micro-batch have written, on the driver.

        :raises KafkaTXError: as :func:`kafkatx.spark.sink.exactly_once.batch_commit.commit_batch`.
        """
        if self._exactly_once is not None:
            self._exactly_once.commit(_attempts(messages), batchId)

    def abort(self, messages: Sequence[Delivered | None], batchId: int) -> None:
        """Take back what the tasks of a micro-batch have written, if that is possible and not committed."""
        if self._exactly_once is not None:
            self._exactly_once.abort(_attempts(messages), batchId)


class StreamTopicWriter(_StreamWriter, _STREAM_ARROW_WRITER or datasource.DataSourceStreamWriter):  # type: ignore[misc]
    """The writer of ``df.writeStream``, from Arrow."""


class RowStreamTopicWriter(_StreamWriter, datasource.DataSourceStreamWriter):  # type: ignore[misc]  # as above
    """The writer of ``df.writeStream``, from rows."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._schema = schema

    def write(self, iterator: Iterator[Row]) -> Delivered:
        """Write one task's ``pyspark.sql.Row`` objects; raises as :meth:`StreamTopicWriter.write`."""
        return super().write(arrow_batches(iterator, self._schema))


def _encodings(options: SinkOptions, schema: StructType) -> Shipped[Encodings]:
    """Return the encodings of columns, for which a registry is asked when they are shipped.

    :raises SettingError: a setting is wrong, or a column cannot be written so.
    """
    from kafkatx.spark.sink.schemas.resolution import planned, resolved  # most tables have no schemas

    encodings = planned(options, schema)
    return Shipped(lambda: resolved(options, encodings, schema))


def _attempts(messages: Sequence[Delivered | None]) -> list[Attempt]:
    """Return what the tasks have left; those that have failed are left out."""
    return [one.attempt for one in messages if one is not None and one.attempt is not None]


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchTopicWriter:
    """Return the writer of a batch.

    :param overwrite: True if the mode is ``overwrite``.
    :raises SettingError: an option, the schema or the mode is not possible.
    """
    parsed = parse_sink(options)
    if parsed.exactly_once:
        raise SettingError(
            f"{EXACTLY_ONCE}=true is for streams: a batch that is run again has no number to know it by;"
            " leave it out, or write by writeStream with trigger(availableNow=True)"
        )
    if overwrite:
        raise SettingError(
            "Save mode overwrite not allowed for Kafka: a topic cannot be replaced; use append"
        )
    # The brokers are not asked here: tasks wait for those that are away when the query starts.
    return BatchTopicWriter(parsed, schema)


def stream_writer(options: Mapping[str, str], schema: StructType) -> StreamTopicWriter | RowStreamTopicWriter:
    """Return the writer of a stream; it appends the rows of each trigger, whatever the output mode.

    :raises SettingError: an option or the schema is not possible.
    """
    parsed = parse_sink(options)
    made = StreamTopicWriter if _STREAM_ARROW_WRITER is not None else RowStreamTopicWriter
    return made(parsed, schema)


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
