"""Stored batches -> Arrow, without an object for each record.

Batches of magic 2 are grouped until there are enough rows; :mod:`kafkatx.spark.arrow.record_fields` finds
their fields, and Arrow gathers keys and values out of the stored bytes. Other batches (magic 0 and 1, headers
that are wanted and present, times that Spark cannot hold, damaged ones) go through
:func:`kafkatx.clientcore.consumer.columns.decode_columns`, which also reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import attrs
import numpy as np
import pyarrow as pa

from kafkatx.clientcore.consumer.columns import CREATE_TIME, LOG_APPEND_TIME, decode_columns
from kafkatx.errors import RequestError
from kafkatx.records import batch as v2
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import batches
from kafkatx.spark.arrow.columns import (
    MAX_TIMESTAMP_MS,
    TIMESTAMP,
    Constants,
    arrow_schema,
    pieces,
    record_batch,
)
from kafkatx.spark.arrow.record_fields import (
    Booleans,
    Fields,
    Integers,
    UnsupportedRecords,
    read_fields,
    record_starts,
)
from kafkatx.spark.offsets import OffsetRange

GROUP_ROWS = 16_384
"""About so many rows make an Arrow batch: fewer cost Python, more leave the processor's cache."""
GROUP_BYTES = 16 << 20
_MOST_BYTES = (1 << 31) - 1


@attrs.define(eq=False)
class _Group:
    """Batches of magic 2 that become Arrow together: as they are stored, and those that have records."""

    stored: list[memoryview] = attrs.Factory(list)
    headers: list[v2.BatchHeader] = attrs.Factory(list)
    payloads: list[bytes | memoryview] = attrs.Factory(list)
    rows: int = 0
    size_bytes: int = 0

    @property
    def full(self) -> bool:
        return self.rows >= GROUP_ROWS or self.size_bytes >= GROUP_BYTES

    def add(self, raw: memoryview, check_crcs: bool) -> None:
        """Take one more batch; a control batch has no records.

        :raises RequestError: it is damaged, or cannot be decompressed.
        """
        self.stored.append(raw)
        header = v2.parse_header(raw)
        if check_crcs:
            v2.check(raw, 0, header)
        if header.control:
            return
        payload = raw[v2.HEADER_BYTES :] if header.codec is Codec.NONE else v2.payload(raw, header)
        self.headers.append(header)
        self.payloads.append(payload)
        self.rows += max(header.count, 0)
        self.size_bytes += len(payload)

    def column(self, name: str) -> Integers:
        """Return a field of the batches' headers, repeated for each record."""
        index = v2.BatchHeader._fields.index(name)
        return np.repeat(
            [header[index] for header in self.headers], [header.count for header in self.headers]
        )


class Decoder:
    """Makes Arrow batches of what fetches of one range of offsets gave."""

    def __init__(self, wanted: OffsetRange, include_headers: bool, check_crcs: bool = True) -> None:
        self._wanted = wanted
        self._include_headers = include_headers
        self._check_crcs = check_crcs
        self._schema = arrow_schema(include_headers)
        self._constants = Constants(wanted.topic, wanted.partition)

    def decode(self, chunk: memoryview) -> Iterator[pa.RecordBatch]:
        """Yield the records of whole batches that are wanted; no Arrow batch is without rows.

        :raises CorruptRecords: a batch is not what it should be.
        :raises UnsupportedCompression: a codec is unknown or not installed.
        """
        for current, run in groupby(batches(chunk), lambda span: span.magic == v2.MAGIC):
            stored = (chunk[span.position : span.position + span.size] for span in run)
            yield from self._current(stored) if current else self._one_by_one(stored)

    def _current(self, stored: Iterable[memoryview]) -> Iterator[pa.RecordBatch]:
        group = _Group()
        for raw in stored:
            try:
                group.add(raw, self._check_crcs)
            except RequestError:
                yield from self._one_by_one(group.stored)
                group = _Group()
            if group.full:
                yield from self._together(group)
                group = _Group()
        if group.headers:
            yield from self._together(group)

    def _together(self, group: _Group) -> Iterator[pa.RecordBatch]:
        try:
            batch = self._arrow(group)
        except (UnsupportedRecords, IndexError):
            yield from self._one_by_one(group.stored)
        else:
            if batch.num_rows:
                yield from pieces(batch)

    def _arrow(self, group: _Group) -> pa.RecordBatch:
        """Return all wanted records of a group.

        :raises UnsupportedRecords: some cannot be read here; :exc:`IndexError` likewise.
        """
        data = b"".join(group.payloads)
        if len(data) > _MOST_BYTES:
            raise UnsupportedRecords
        fields = _fields(group, data)
        if self._include_headers and fields.with_headers.any():
            raise UnsupportedRecords
        offsets, timestamps = _offsets(group, fields), _timestamps(group, fields)
        rows = len(offsets)
        buffer = pa.py_buffer(data)
        constants = self._constants
        columns = [
            _binary(buffer, fields.key_starts, fields.key_ends, fields.null_keys),
            _binary(buffer, fields.value_starts, fields.value_ends, fields.null_values),
            constants.topic(rows),
            constants.partition(rows),
            pa.array(offsets),
            pa.array(timestamps * 1000, pa.int64()).view(TIMESTAMP),
            _timestamp_types(group, constants),
        ]
        if self._include_headers:
            columns.append(pa.nulls(rows, self._schema.field("headers").type))
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        start, end = np.searchsorted(offsets, (self._wanted.start, self._wanted.end))
        return batch.slice(start, end - start)

    def _one_by_one(self, stored: Iterable[memoryview]) -> Iterator[pa.RecordBatch]:
        _, _, start, end = wanted = self._wanted
        for columns in decode_columns(stored, start, end, self._check_crcs, self._include_headers):
            yield from pieces(record_batch(wanted.topic, wanted.partition, columns, self._schema))


def _fields(group: _Group, data: bytes) -> Fields:
    starts: list[Integers] = []
    at = 0
    for header, payload in zip(group.headers, group.payloads, strict=True):
        end = at + len(payload)
        starts += record_starts(data, at, end, header.count)
        at = end
    edges = np.concatenate([*starts, [at]], dtype=np.int64)
    return read_fields(data, edges[:-1], edges[1:])


def _offsets(group: _Group, fields: Fields) -> Integers:
    """Return the records' offsets.

    :raises UnsupportedRecords: one is outside of its batch, or they do not increase.
    """
    base, last = group.column("base_offset"), group.column("last_offset_delta")
    deltas = fields.offset_deltas
    offsets = base + deltas
    inside = (deltas >= 0) & (deltas <= last)
    if not inside.all() or not (np.diff(offsets) > 0).all() or (offsets[:1] < 0).any():
        raise UnsupportedRecords
    return offsets


def _timestamps(group: _Group, fields: Fields) -> Integers:
    """Return the records' timestamps in ms.

    :raises UnsupportedRecords: Spark cannot hold one.
    """
    base, deltas = group.column("base_timestamp"), fields.timestamp_deltas
    if any(header.log_append_time for header in group.headers):
        by_broker = group.column("attributes") & v2.TIMESTAMP_TYPE != 0
        base = np.where(by_broker, group.column("max_timestamp"), base)
        deltas = np.where(by_broker, 0, deltas)
    times = base + deltas  # of 63 bits and 64: a sum that overflows is still far out of range
    if len(times) and not -MAX_TIMESTAMP_MS <= times.min() <= times.max() <= MAX_TIMESTAMP_MS:
        raise UnsupportedRecords
    return times


def _timestamp_types(group: _Group, constants: Constants) -> pa.Array:
    kinds = {LOG_APPEND_TIME if header.log_append_time else CREATE_TIME for header in group.headers}
    if len(kinds) == 1:
        return constants.timestamp_type(kinds.pop(), group.rows)
    by_broker = group.column("attributes") & v2.TIMESTAMP_TYPE != 0
    return pa.array(np.where(by_broker, LOG_APPEND_TIME, CREATE_TIME), pa.int32())


def _binary(buffer: pa.Buffer, starts: Integers, ends: Integers, nulls: Booleans) -> pa.Array:
    """Cut an array of byte strings out of a buffer; what lies between them is left out.

    The strings of an Arrow array are adjacent. So an array is made of the strings and the bytes between them,
    and every second element is taken, which copies the bytes in C.
    """
    rows = len(starts)
    if nulls.all():
        return pa.nulls(rows, pa.binary())
    edges = np.empty((rows, 2), np.int32)
    edges[:, 0], edges[:, 1] = starts, ends
    every = pa.Array.from_buffers(pa.binary(), 2 * rows - 1, [None, pa.py_buffer(edges), buffer])
    return every.take(pa.array(np.arange(0, 2 * rows, 2), mask=nulls if nulls.any() else None))
