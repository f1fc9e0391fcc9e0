"""Arrow columns -> the bytes of records of format v2 (https://kafka.apache.org/documentation/#record).

Every step runs over a whole column in C: lengths become varints, and ``binary_join_element_wise`` puts a
record's pieces behind each other. Its result has all records in one buffer, of which batches are slices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafkatx.clientcore.audit.server_header import Stamp
from kafkatx.errors import KafkaTXError
from kafkatx.records.varint import encode
from kafkatx.spark.arrow.record_fields import Integers, Octets

_NULL = b"\x01"  # the varint -1
_START = b"\0\0"  # attributes and timestamp delta
_NO_HEADERS = b"\0"
_MOST_VARINT_BYTES = 5


class BadRow(KafkaTXError):
    """A row cannot be made a record of."""


def buffers_of(column: pa.BinaryArray) -> tuple[Octets, Integers, Integers]:
    """Return the parts of a binary column as numpy arrays: its bytes, and the start and size of each value.

    :param column: a ``pyarrow.BinaryArray``; null is like empty.
    """
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32, len(column) + 1, 4 * column.offset).astype(np.int64)
    raw = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return raw, bounds[:-1], np.diff(bounds)


def sizes_of(column: pa.BinaryArray) -> Integers:
    """Return the size of each value, 0 for null."""
    sizes: Integers = (
        pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return sizes


def varints(numbers: Integers) -> pa.BinaryArray:
    """Encode each number of an int64 array, -2**31 to 2**31 - 1, as a zigzag varint."""
    zigzag = (numbers << 1) ^ (numbers >> 63)
    sizes = np.ones(len(numbers), np.int32)
    for group in range(1, _MOST_VARINT_BYTES):
        sizes += zigzag >= 1 << 7 * group
    width = int(sizes.max(initial=1))
    places = np.arange(width)
    groups = (zigzag[:, None] >> 7 * places) & 0x7F
    more = places < sizes[:, None] - 1
    data = (groups | np.where(more, 0x80, 0)).astype(np.uint8)[places < sizes[:, None]]
    return _binary(_bounds(sizes), pa.py_buffer(data))


def encode_records(
    deltas: Integers, keys: pa.BinaryArray, values: pa.BinaryArray, headers: pa.BinaryArray
) -> pa.BinaryArray:
    """Encode the records, their lengths before them: a ``pyarrow.BinaryArray`` without gaps between values.

    :param deltas: the offset deltas, an int64 array; timestamp deltas are 0.
    :param keys: a ``pyarrow.BinaryArray``, like *values*; null is a null key or value.
    :param headers: as :func:`encode_headers` gives them.
    """
    parts = [_START, varints(deltas), *_sized(keys), *_sized(values), _or_scalar(headers, _NO_HEADERS)]
    lengths: Integers = np.zeros(len(deltas), np.int64)
    for part in parts:
        lengths += len(part) if isinstance(part, bytes) else sizes_of(part)
    columns = [pa.scalar(part, pa.binary()) if isinstance(part, bytes) else part for part in parts]
    return pc.binary_join_element_wise(varints(lengths), *columns, b"")


def _sized(column: pa.BinaryArray) -> list[pa.BinaryArray | bytes]:
    """Return a column's sizes and values, as pieces of records."""
    if column.null_count == len(column):
        return [_NULL]
    sizes = sizes_of(column)
    if not column.null_count:
        return [varints(sizes), column]
    sizes[column.is_null().to_numpy(zero_copy_only=False)] = -1
    return [varints(sizes), column.fill_null(b"")]


def _or_scalar(column: pa.BinaryArray, default: bytes) -> pa.BinaryArray | bytes:
    if column.null_count == len(column):
        return default
    return column.fill_null(default) if column.null_count else column


def stamps(stamp: Stamp | None, count: int) -> pa.BinaryArray:
    """Return the headers of *count* records without headers of their own, encoded as by
    :func:`encode_headers`.
    """
    if stamp is None:
        return pa.nulls(count, pa.binary())
    return pa.repeat(pa.scalar(encode(1) + _header(stamp), pa.binary()), count)


def _header(stamp: Stamp) -> bytes:
    name, value = stamp[0].encode(), stamp[1]
    return encode(len(name)) + name + encode(len(value)) + value


def encode_headers(column: pa.ListArray, stamp: Stamp | None = None) -> pa.BinaryArray:
    """Encode the headers of each record, their count first: a ``pyarrow.BinaryArray``; null where there are
    none.

    :param column: of ``list<struct<key: string, value: binary>>``.
    :param stamp: a header for each record that has none of its name.
    :raises BadRow: a header is null or has no key, which Kafka's protocol cannot say.
    """
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    if not counts.any():
        return stamps(stamp, len(column))
    headers = column.flatten()  # those of null lists are left out
    keys, contents = (child.cast(pa.binary()) for child in headers.flatten())  # a null header's are null
    if keys.null_count:
        raise BadRow("headers: a header is null or its key is: give it a key, or leave it out")
    columns = [
        pa.scalar(part, pa.binary()) if isinstance(part, bytes) else part
        for part in (*_sized(keys), *_sized(contents))
    ]
    each = pc.binary_join_element_wise(*columns, b"")
    data, starts, sizes = buffers_of(each)
    ends = np.concatenate(([0], np.cumsum(sizes)))[np.concatenate(([0], np.cumsum(counts)))]
    first = int(starts[0])
    together = _binary(ends.astype(np.int32), pa.py_buffer(data[first : first + int(ends[-1])]))
    if stamp is None:
        return pc.binary_join_element_wise(varints(counts), together, b"")
    lacks = np.ones(len(column), bool)
    named = pc.equal(keys, pa.scalar(stamp[0].encode(), pa.binary())).to_numpy(zero_copy_only=False)
    lacks[np.repeat(np.arange(len(column)), counts)[named]] = False
    added = pc.if_else(pa.array(lacks), pa.scalar(_header(stamp), pa.binary()), pa.scalar(b"", pa.binary()))
    return pc.binary_join_element_wise(varints(counts + lacks), together, added, b"")


def _bounds(sizes: Integers | npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    bounds = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=bounds[1:])
    return bounds


def _binary(bounds: npt.NDArray[np.int32], data: Octets) -> pa.BinaryArray:
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), data])
