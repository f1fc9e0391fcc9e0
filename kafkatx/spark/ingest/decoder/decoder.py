"""The interface of a decoding to the rest of an ingestion, and the one that leaves records as they are."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import pyarrow as pa

from kafkatx.spark.arrow import columns as arrow
from kafkatx.spark.ingest.table.columns import Column, columns_of

KAFKA_COLUMNS = {
    "kafka_topic": "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_timestamp": "timestamp",
}
"""Columns behind a decoder's own, and the columns of the source that they are."""

_SOURCE = arrow.arrow_schema(include_headers=False)
_DEAD = ("topic", "partition", "offset", "timestamp", "key", "value")
DEAD_SCHEMA = pa.schema([*(_SOURCE.field(name) for name in _DEAD), ("reason", pa.string())])
"""The content of a dead letter: key and value are the record's own bytes."""


class Decoded(NamedTuple):
    """The result of decoding one batch; each record is a row or a dead letter."""

    rows: pa.RecordBatch
    """``pyarrow.RecordBatch``: the decoder's columns, then :data:`KAFKA_COLUMNS`."""
    dead: pa.RecordBatch | None
    """``pyarrow.RecordBatch`` as :data:`DEAD_SCHEMA`; None if there are none."""
    drift: dict[str, str]
    """Fields that no column is there for, and their types; of a struct only the fields that it lacks.

    If it is not empty, the caller passes it to ``widened`` and decodes the rows again, as they lack these
    fields.
    """
    unknown: frozenset[bytes] = frozenset()
    """Beginnings of messages whose schema has to be looked up; the rows are to be decoded again then."""


class Decoding(Protocol):
    """Makes rows of records; picklable."""

    time_column: str | None
    """The column with the time of what a row tells, if the decoder knows."""

    def columns(self) -> list[Column]:
        """Return the columns of the rows, without those that name a row's origin in Kafka."""

    def decode(self, topic: str, batch: pa.RecordBatch) -> Decoded:
        """Decode a ``pyarrow.RecordBatch`` of the source's columns; every record of it is of *topic*."""


class Undecoded:
    """Rows are the source's columns, as they are."""

    time_column: str | None = "timestamp"

    def __init__(self, include_headers: bool = False) -> None:
        self._include_headers = include_headers

    def columns(self) -> list[Column]:
        """Return the source's columns."""
        return columns_of(arrow.arrow_schema(self._include_headers))

    def decode(self, topic: str, batch: pa.RecordBatch) -> Decoded:
        """Return the same batch."""
        return Decoded(batch, None, {})
