"""Records column by column: one list per field, filled one batch at a time. Pure: no I/O."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kafkatx.records.batch import MAGIC_AT, TIMESTAMP_TYPE, Headers
from kafkatx.records.compression import LIMIT_BYTES
from kafkatx.records.conversion import read_columns

MAX_ROWS = 16_384
MAX_COLUMN_BYTES = 16 << 20

NO_TIMESTAMP_TYPE = -1
CREATE_TIME = 0
LOG_APPEND_TIME = 1

_ATTRIBUTES_LOW_BYTE_AT = (17, 17, 22)  # by magic


class Columns(NamedTuple):
    """Records as one list per field, all of the same length.

    Timestamps are in ms, -1 if there is none. Timestamp types are Kafka's: -1 none (magic 0), 0 CreateTime,
    1 LogAppendTime. ``headers`` stays empty if headers are not requested.
    """

    offsets: list[int]
    timestamps: list[int]
    timestamp_types: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[Headers]

    @classmethod
    def empty(cls) -> Columns:
        """Return columns without rows."""
        return cls([], [], [], [], [], [])

    def trim(self, first_row: int, start: int, end: int | None) -> None:
        """Drop the rows from index *first_row* on whose offset is not in [*start*, *end*).

        Offsets must increase.
        """
        offsets = self.offsets
        low = bisect_left(offsets, start, first_row)
        high = len(offsets) if end is None else bisect_left(offsets, end, first_row)
        column: list[Any]
        for column in self:
            del column[high:]
            del column[first_row:low]

    def truncate(self, rows: int) -> None:
        """Keep only the first *rows* rows."""
        column: list[Any]
        for column in self:
            del column[rows:]


def decode_columns(
    stored: Iterable[memoryview],
    start: int,
    end: int | None,
    check_crcs: bool = True,
    with_headers: bool = True,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_COLUMN_BYTES,
) -> Iterator[Columns]:
    """Yield the records of stored batches with offsets in [*start*, *end*); never yield empty columns.

    Columns are yielded at the end of the batch that brings them to *max_rows* rows or *max_bytes* of keys and
    values.

    :raises CorruptRecords: as :func:`append_batch`; rows that were not yielded yet are lost.
    """
    columns, decoded_bytes = Columns.empty(), 0
    for raw in stored:
        first_row = len(columns.offsets)
        append_batch(raw, columns, check_crcs, with_headers)
        columns.trim(first_row, start, end)
        decoded_bytes += _payload_bytes(columns, first_row)
        if len(columns.offsets) >= max_rows or decoded_bytes >= max_bytes:
            yield columns
            columns, decoded_bytes = Columns.empty(), 0
    if columns.offsets:
        yield columns


def _payload_bytes(columns: Columns, first_row: int) -> int:
    sizes = (sum(map(len, filter(None, column[first_row:]))) for column in (columns.keys, columns.values))
    return sum(sizes)


def append_batch(
    raw: memoryview,
    columns: Columns,
    check_crcs: bool = True,
    with_headers: bool = True,
    limit_bytes: int = LIMIT_BYTES,
) -> None:
    """Append the records of one stored batch of any magic; a control batch has none.

    :param with_headers: if false, ``columns.headers`` is not filled.
    :param limit_bytes: limit of the batch's decompressed size.
    :raises CorruptRecords: the CRC does not match, or the records do not match the batch header.
    :raises UnsupportedCompression: the codec is unknown or not installed.
    """
    offsets, timestamps, timestamp_types, keys, values, headers = columns
    wanted = headers if with_headers else None
    read_columns(raw, offsets, timestamps, keys, values, wanted, check_crcs, limit_bytes)
    timestamp_types += [_timestamp_type(raw)] * (len(offsets) - len(timestamp_types))


def _timestamp_type(raw: memoryview) -> int:
    magic = raw[MAGIC_AT]
    if magic == 0:
        return NO_TIMESTAMP_TYPE
    return LOG_APPEND_TIME if raw[_ATTRIBUTES_LOW_BYTE_AT[magic]] & TIMESTAMP_TYPE else CREATE_TIME
