"""Spark's batches -> rows of one topic, in four columns that are always there.

=========  ======  ===========================================================
key        binary  null: no key
value      binary  null: a tombstone
headers    binary  encoded, their count first; null: none
partition  int32   null: by the key's hash, and without a key one of them
=========  ======  ===========================================================
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kafkatx.clientcore.audit.server_header import Stamp
from kafkatx.spark.sink.encoder import BadRow, encode_headers, stamps
from kafkatx.spark.sink.schema import SinkColumns

SCHEMA = pa.schema(
    [("key", pa.binary()), ("value", pa.binary()), ("headers", pa.binary()), ("partition", pa.int32())]
)


def by_topic(
    batch: pa.RecordBatch, columns: SinkColumns, topic: str | None, stamp: Stamp | None = None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield each topic with its rows as a ``pyarrow.RecordBatch``, in the order that they had.

    :param topic: of all rows; None: that of the topic column.
    :param stamp: a header for each record that has none of its name.
    :raises BadRow: a row has no topic, or a header no key.
    """
    rows = _rows(batch, columns, stamp)
    if topic is not None:
        yield topic, rows
        return
    named = batch.column(columns.topic)
    if named.null_count:
        raise BadRow("null topic present in the data. Use the topic option for setting a default topic.")
    coded = named.dictionary_encode()
    names = coded.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], rows
        return
    codes = coded.indices.to_numpy()
    rows = rows.take(pa.array(np.argsort(codes, kind="stable")))
    start = 0
    for name, count in zip(names, np.bincount(codes).tolist(), strict=True):
        yield name, rows.slice(start, count)
        start += count


def _rows(batch: pa.RecordBatch, columns: SinkColumns, stamp: Stamp | None) -> pa.RecordBatch:
    def binary(index: int | None) -> pa.Array:
        return (
            pa.nulls(batch.num_rows, pa.binary()) if index is None else batch.column(index).cast(pa.binary())
        )

    headers = columns.headers
    partition = columns.partition
    arrays = [
        binary(columns.key),
        binary(columns.value),
        stamps(stamp, batch.num_rows) if headers is None else encode_headers(batch.column(headers), stamp),
        pa.nulls(batch.num_rows, pa.int32()) if partition is None else batch.column(partition),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
