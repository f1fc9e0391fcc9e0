"""Record format v2 (magic 2, KIP-98): the records of a batch.

The batch's header is told and read in :mod:`kafkatx.records.header`; its names can be had from here too.
The records follow it, compressed as one where the header's attributes say so.

A record; every length is a zigzag varint, -1 stands for null (see :mod:`kafkatx.records.varint`)::

    length | attributes i8, unused | timestamp - base_timestamp (varlong) | offset - base_offset
    | key length | key | value length | value | headers:
    count, then of each: key length | key | value length | value
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple, TypeAlias

from kafkatx.errors import CorruptRecords
from kafkatx.records.compression import LIMIT_BYTES, decompress
from kafkatx.records.header import (
    ATTRIBUTES_AT,
    BASE_OFFSET_AT,
    BASE_SEQUENCE_AT,
    BASE_TIMESTAMP_AT,
    COMPRESSION_MASK,
    CONTROL,
    COUNT_AT,
    CRC_AT,
    DELETE_HORIZON,
    HEADER,
    HEADER_BYTES,
    LAST_OFFSET_DELTA_AT,
    LEADER_EPOCH_AT,
    LENGTH_AT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
    BatchHeader,
    check,
    parse_header,
)
from kafkatx.records.varint import VARLONG_BYTES, decode, rest

__all__ = [
    "ATTRIBUTES_AT",
    "BASE_OFFSET_AT",
    "BASE_SEQUENCE_AT",
    "BASE_TIMESTAMP_AT",
    "BatchHeader",
    "COMPRESSION_MASK",
    "CONTROL",
    "COUNT_AT",
    "CRC_AT",
    "DELETE_HORIZON",
    "HEADER",
    "HEADER_BYTES",
    "Headers",
    "LAST_OFFSET_DELTA_AT",
    "LEADER_EPOCH_AT",
    "LENGTH_AT",
    "LOG_OVERHEAD",
    "MAGIC",
    "MAGIC_AT",
    "MAX_TIMESTAMP_AT",
    "PRODUCER_EPOCH_AT",
    "PRODUCER_ID_AT",
    "Record",
    "TIMESTAMP_TYPE",
    "TRANSACTIONAL",
    "check",
    "decode_headers",
    "iter_records",
    "parse_header",
    "payload",
    "read_columns",
    "stream_records",
]

_STREAMED = 1000

Headers: TypeAlias = list[tuple[str, bytes | None]]


class Record(NamedTuple):
    """One record of any magic. The timestamp is in ms; -1 for magic 0, which has none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def payload(
    batch: bytes | memoryview, header: BatchHeader | None = None, limit_bytes: int = LIMIT_BYTES
) -> bytes:
    """Return the decompressed records section of the batch at the start of *batch*.

    :raises CorruptRecords: it is cut off, or cannot be decompressed into *limit_bytes*.
    :raises UnsupportedCompression: the codec is unknown or not installed.
    """
    header = header or parse_header(batch)
    end = LOG_OVERHEAD + header.length
    if not HEADER_BYTES <= end <= len(batch):
        raise CorruptRecords(f"a batch of length {header.length} in {len(batch)} bytes")
    return decompress(header.codec, batch[HEADER_BYTES:end], limit_bytes)


def iter_records(batch: memoryview, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
    """Yield the records of the batch at the start of *batch*; its CRC is not checked.

    The batch is decoded when the first record is asked for: from a corrupt one none comes.

    :raises CorruptRecords: as :func:`read_columns`.
    """
    offsets: list[int] = []
    timestamps: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    headers: list[Headers] = []
    read_columns(batch, offsets, timestamps, keys, values, headers, limit_bytes)
    columns = zip(offsets, timestamps, keys, values, headers, strict=True)
    yield from map(tuple.__new__, repeat(Record), columns)


def stream_records(batch: bytes | memoryview, limit_bytes: int = LIMIT_BYTES) -> Iterator[Record]:
    """Yield the records of a batch as :func:`iter_records` does, but decode a thousand at a time.

    So a batch that inflates to millions of small records takes no more memory than its bytes; some records of
    a corrupt one may come before it is found to be corrupt.

    :raises CorruptRecords: as :func:`read_columns`.
    """
    header = parse_header(batch)
    data = payload(batch, header, limit_bytes)
    at, left = 0, header.count
    while left > 0:
        offsets: list[int] = []
        timestamps: list[int] = []
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        headers: list[Headers] = []
        piece = min(left, _STREAMED)
        try:
            at = _decode(data, header, offsets, timestamps, keys, values, headers, None, piece, at)
        except IndexError:
            raise CorruptRecords("the batch ends within a record") from None
        if not (header.base_offset <= min(offsets) and max(offsets) <= header.last_offset):
            raise CorruptRecords("a record's offset is outside of its batch")
        if header.log_append_time:
            timestamps = [header.max_timestamp] * piece
        columns = zip(offsets, timestamps, keys, values, headers, strict=True)
        yield from map(tuple.__new__, repeat(Record), columns)
        left -= piece
    if at != len(data):
        raise CorruptRecords(f"{len(data) - at} bytes follow the batch's {header.count} records")


def read_columns(
    batch: bytes | memoryview,
    offsets: list[int],
    timestamps: list[int],
    keys: list[bytes | None],
    values: list[bytes | None],
    headers: list[Headers] | None = None,
    limit_bytes: int = LIMIT_BYTES,
    encoded_headers: list[bytes] | None = None,
    header: BatchHeader | None = None,
) -> int:
    """Append the fields of a batch's records to one list each; the CRC is not checked.

    :param batch: begins with the batch; what follows it is left alone.
    :param headers: None where they are not wanted: they are then skipped.
    :param limit_bytes: how large the decompressed records may be.
    :param encoded_headers: gets the headers as they stand there, for :func:`decode_headers`; empty where a
        record has none. Instead of *headers*.
    :param header: the batch's, where it is known already.
    :return: the number of records.
    :raises CorruptRecords: the records are not what the header promises; the lists may then hold
        some of them.
    :raises UnsupportedCompression: the codec is unknown or not installed.
    """
    header = header or parse_header(batch)
    data = payload(batch, header, limit_bytes)
    known = len(offsets)
    try:
        end = _decode(data, header, offsets, timestamps, keys, values, headers, encoded_headers, header.count)
    except IndexError:
        raise CorruptRecords("the batch ends within a record") from None
    if end != len(data):
        raise CorruptRecords(f"{len(data) - end} bytes follow the batch's {header.count} records")
    if header.count < 0:
        raise CorruptRecords(f"a batch of {header.count} records")
    added = offsets[known:] if known else offsets
    if header.count and not (header.base_offset <= min(added) and max(added) <= header.last_offset):
        raise CorruptRecords("a record's offset is outside of its batch")
    if header.log_append_time:
        timestamps[known:] = [header.max_timestamp] * header.count
    return header.count


def _decode(
    data: bytes,
    header: BatchHeader,
    offsets: list[int],
    timestamps: list[int],
    keys: list[bytes | None],
    values: list[bytes | None],
    headers: list[Headers] | None,
    encoded_headers: list[bytes] | None,
    count: int,
    at: int = 0,
) -> int:
    """Read *count* records from *at* on; return the position after the last.

    One loop, with varints of one byte, and of two where they are common, read in place: a call for each
    would make it half as fast. No length is checked by itself, and slices are cut silently where the data
    ends; but a record must end where its length says, and the byte after its value is read by index, so
    that no false length gets through.

    :raises IndexError: the data ends within a record.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    add_offset, add_timestamp = offsets.append, timestamps.append
    add_key, add_value = keys.append, values.append
    for _ in range(count):
        n = data[at]
        at += 1
        if n >= 0x80:
            byte = data[at]
            if byte < 0x80:
                n += (byte << 7) - 0x80
                at += 1
            else:
                n, at = rest(data, at, n)
        twice_end = at + at + n  # in zigzag form: an odd, that is negative, length never fits
        n = data[at + 1]  # after the attributes
        at += 2
        if n:
            if n >= 0x80:
                n, at = rest(data, at, n, VARLONG_BYTES)
            add_timestamp(base_timestamp + ((n >> 1) ^ -(n & 1)))
        else:
            add_timestamp(base_timestamp)
        n = data[at]
        at += 1
        if n >= 0x80:
            byte = data[at]
            if byte < 0x80:
                n += (byte << 7) - 0x80
                at += 1
            else:
                n, at = rest(data, at, n)
        add_offset(base_offset + ((n >> 1) ^ -(n & 1)))
        n = data[at]
        at += 1
        if n >= 0x80:
            n, at = rest(data, at, n)
        if n & 1:  # every negative length is null, as in the Java client
            add_key(None)
        else:
            start = at
            at += n >> 1
            add_key(data[start:at])
        n = data[at]
        at += 1
        if n >= 0x80:
            byte = data[at]
            if byte < 0x80:
                n += (byte << 7) - 0x80
                at += 1
            else:
                n, at = rest(data, at, n)
        if n & 1:
            add_value(None)
        else:
            start = at
            at += n >> 1
            add_value(data[start:at])
        if not data[at]:
            at += 1
            if headers is not None:
                headers.append([])
            elif encoded_headers is not None:
                encoded_headers.append(b"")
        elif headers is None:
            start = at
            at = _skip(data, at, twice_end >> 1)
            if encoded_headers is not None:
                encoded_headers.append(data[start:at])
        else:
            found, at = _headers(data, at)
            headers.append(found)
        if at + at != twice_end:
            raise CorruptRecords("a record is not as long as it says")
    return at


def _skip(data: bytes, at: int, end: int) -> int:
    """Skip a record's headers up to its *end*."""
    if end <= at:
        raise CorruptRecords(f"a record with headers that ends {end - at} bytes after they begin")
    return end


def decode_headers(data: bytes) -> Headers:
    """Read encoded headers, from their count to their end; empty bytes have none.

    :raises CorruptRecords: they are not what they promise.
    """
    if not data:
        return []
    found, end = _headers(data, 0)
    if end != len(data):
        raise CorruptRecords(f"headers that end {len(data) - end} bytes before their record does")
    return found


def _headers(data: bytes, at: int) -> tuple[Headers, int]:
    """Read a record's headers; return them and the position after them.

    Lengths past the data's end are found where the record ends, as in :func:`_decode`.
    A name that is not UTF-8 is read with replacement characters, as the Java client does.
    """
    count, at = decode(data, at)
    if count < 0:
        raise CorruptRecords(f"{count} headers in a record")
    found: Headers = []
    for _ in range(count):
        size, at = decode(data, at)
        if size < 0:
            raise CorruptRecords(f"a header's name of {size} bytes")
        name = data[at : at + size].decode("utf-8", "replace")
        at += size
        size, at = decode(data, at)
        found.append((name, None if size < 0 else data[at : at + size]))
        at += max(size, 0)
    return found, at
