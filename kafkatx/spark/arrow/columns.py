"""Columns as the blocking client reads them -> Arrow, in the columns and types of Spark's own Kafka source.

=============  ==========================================  ============================================
column         Spark                                       Arrow
=============  ==========================================  ============================================
key            binary                                      binary
value          binary                                      binary
topic          string                                      string
partition      int                                         int32
offset         bigint                                      int64
timestamp      timestamp                                   timestamp[us, UTC]
timestampType  int                                         int32; -1 none, 0 CreateTime, 1 LogAppendTime
headers        array<struct<key: string, value: binary>>   the same; null where a record has none
=============  ==========================================  ============================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from kafkatx.clientcore.consumer.columns import Columns

MAX_ROWS = 65_536
MAX_BYTES = 32 << 20

TIMESTAMP = pa.timestamp("us", tz="UTC")
MAX_TIMESTAMP_MS = ((1 << 63) - 1) // 1000
"""Spark counts microseconds."""
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_FIELDS = [
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", TIMESTAMP),
    ("timestampType", pa.int32()),
]


def arrow_schema(include_headers: bool) -> pa.Schema:
    """Return the ``pyarrow.Schema`` of the batches: exactly the one that Spark expects for the source's
    schema.
    """
    return pa.schema([*_FIELDS, ("headers", _HEADERS)] if include_headers else _FIELDS)


class Constants:
    """The columns that are the same in every row of a partition: made once, then cut to length uncopied."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = pa.scalar(topic, pa.string())
        self._partition = pa.scalar(partition, pa.int32())
        self._made: dict[pa.Scalar, pa.Array] = {}

    def topic(self, rows: int) -> pa.Array:
        """Return a column of the topic's name."""
        return self._cut(self._topic, rows)

    def partition(self, rows: int) -> pa.Array:
        """Return a column of the partition's number."""
        return self._cut(self._partition, rows)

    def timestamp_type(self, kind: int, rows: int) -> pa.Array:
        """Return a column of one timestamp type."""
        return self._cut(pa.scalar(kind, pa.int32()), rows)

    def _cut(self, value: pa.Scalar, rows: int) -> pa.Array:
        made = self._made.get(value)
        if made is None or len(made) < rows:
            made = self._made[value] = pa.repeat(value, rows + rows // 8)
        return made[:rows]


def record_batch(topic: str, partition: int, columns: Columns, schema: pa.Schema) -> pa.RecordBatch:
    """Return one ``pyarrow.RecordBatch`` of records of one partition."""
    rows = len(columns.offsets)
    arrays = [
        pa.array(columns.keys, pa.binary()),
        pa.array(columns.values, pa.binary()),
        pa.repeat(topic, rows),
        pa.repeat(pa.scalar(partition, pa.int32()), rows),
        pa.array(columns.offsets, pa.int64()),
        _timestamps(columns.timestamps),
        pa.array(columns.timestamp_types, pa.int32()),
    ]
    if len(schema) > len(arrays):
        arrays.append(pa.array([headers or None for headers in columns.headers], _HEADERS))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _timestamps(timestamps_ms: list[int]) -> pa.Array:
    """Milliseconds as Spark's microseconds; null where those do not fit into 64 bits.

    Such times are written by producers that take nanoseconds for milliseconds. One record of theirs must
    not make a topic unreadable.
    """
    try:
        return pa.array(timestamps_ms, pa.timestamp("ms", tz="UTC")).cast(TIMESTAMP)
    except (pa.ArrowInvalid, OverflowError):
        fitting = [ms * 1000 if -MAX_TIMESTAMP_MS <= ms <= MAX_TIMESTAMP_MS else None for ms in timestamps_ms]
        return pa.array(fitting, pa.int64()).cast(TIMESTAMP)


def pieces(
    batch: pa.RecordBatch, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES
) -> Iterator[pa.RecordBatch]:
    """Cut a batch, without copying, into pieces of about *max_bytes* and at most *max_rows*.

    A single row is never cut, however large.
    """
    rows, size = batch.num_rows, batch.nbytes
    step = min(max_rows, rows if size <= max_bytes else max(1, rows * max_bytes // size))
    if step >= rows:
        yield batch
        return
    for start in range(0, rows, step):
        yield batch.slice(start, step)
