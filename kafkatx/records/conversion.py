"""Walks over batches of any message format, and conversion between formats.

Every format begins with an i64 offset and an i32 length and has its magic at byte 16, so that a log of
mixed formats can be walked without knowing them further.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from struct import Struct
from typing import NamedTuple

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records import batch as v2
from kafkatx.records.batch import Headers, Record
from kafkatx.records.builder import assemble
from kafkatx.records.compression import LIMIT_BYTES, Codec, compress
from kafkatx.records.legacy import message_sets, messages
from kafkatx.types import NO_TIMESTAMP

_START = Struct(">qiib")  # offset, length, leader epoch or CRC, magic
_V1 = Struct(">bq")  # attributes, timestamp
CONVERTED_BYTES = 1 << 20
"""Bytes of one batch that are converted at a time, for an old version of Fetch."""

_SMALLEST = (*messages.OVERHEAD, v2.HEADER_BYTES)


class Span(NamedTuple):
    """One batch or outer message of a log, found by :func:`batches`.

    ``last_offset`` is inclusive. Of a compressed message of magic 0 or 1 only the last offset can be told
    without opening it: ``base_offset`` is the same there. ``max_timestamp`` is -1 for magic 0.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    max_timestamp: int


def batches(data: bytes | memoryview) -> Iterator[Span]:
    """Yield every batch and outer message; an incomplete one at the end is left out.

    :raises CorruptRecords: a length or a magic that cannot be. Nothing else is checked.
    """
    at, end = 0, len(data)
    while end - at >= _START.size:
        base_offset, length, _, magic = _START.unpack_from(data, at)
        size = length + v2.LOG_OVERHEAD
        if not 0 <= magic <= v2.MAGIC or size < _SMALLEST[magic]:
            raise CorruptRecords(f"a batch of magic {magic} and length {length} at position {at}")
        if at + size > end:
            return
        last_offset, timestamp = base_offset, NO_TIMESTAMP
        if magic == v2.MAGIC:
            header = v2.parse_header(data, at)
            last_offset, timestamp = header.last_offset, header.max_timestamp
        elif magic == 1:
            timestamp = _V1.unpack_from(data, at + messages.ATTRIBUTES_AT)[1]
        yield Span(at, size, magic, base_offset, last_offset, timestamp)
        at += size


def read_columns(
    data: bytes | memoryview,
    offsets: list[int],
    timestamps: list[int],
    keys: list[bytes | None],
    values: list[bytes | None],
    headers: list[Headers] | None = None,
    check: bool = True,
    limit_bytes: int = LIMIT_BYTES,
) -> int:
    """Append the records of a fetch reply, in any format, to one list per field.

    Control batches are left out, and so is a batch that is cut off at the end.

    :param headers: None where they are not wanted.
    :param check: check the CRC of each batch.
    :return: the offset to go on from: the one after the last whole batch's, which may be further than the
        last record's where batches are empty or hold control records; -1 if there is no whole batch.
    :raises CorruptRecords: a CRC or the bytes of a batch are wrong; the lists hold what stood before it,
        and may hold some of its records.
    :raises UnsupportedCompression: a codec is unknown or not installed.
    """
    view = memoryview(data)
    next_offset = -1
    for span in batches(view):
        part = view[span.position : span.position + span.size]
        if span.magic == v2.MAGIC:
            header = v2.parse_header(part)
            if check:
                v2.check(part, 0, header)
            if not header.control:
                v2.read_columns(part, offsets, timestamps, keys, values, headers, limit_bytes)
        else:
            for record in message_sets.iter_records(part, check, limit_bytes):
                offsets.append(record.offset)
                timestamps.append(record.timestamp)
                keys.append(record.key)
                values.append(record.value)
                if headers is not None:
                    headers.append(record.headers)
        next_offset = span.last_offset + 1
    return next_offset


def iter_any(
    data: bytes | memoryview, check: bool = True, limit_bytes: int = LIMIT_BYTES
) -> Iterator[Record]:
    """Yield the records of a fetch reply, in any format, batch by batch.

    Control batches are left out, and so is a batch that is cut off at the end.

    :param check: check the CRC of each batch before its records are given out.
    :raises CorruptRecords: a CRC or the bytes of a batch are wrong; none of its records came.
    :raises UnsupportedCompression: a codec is unknown or not installed.
    """
    view = memoryview(data)
    for span in batches(view):
        columns: tuple[list[int], list[int], list[bytes | None], list[bytes | None], list[Headers]]
        columns = ([], [], [], [], [])
        part = view[span.position : span.position + span.size]
        read_columns(part, *columns, check=check, limit_bytes=limit_bytes)
        yield from map(tuple.__new__, repeat(Record), zip(*columns, strict=True))


def stream_any(
    data: bytes | memoryview, check: bool = True, limit_bytes: int = LIMIT_BYTES
) -> Iterator[Record]:
    """Yield the same as :func:`iter_any`, decoding a part of a batch at a time.

    Some records of a corrupt batch may come before it is found to be corrupt.

    :raises CorruptRecords: a CRC or the bytes of a batch are wrong.
    :raises UnsupportedCompression: a codec is unknown or not installed.
    """
    view = memoryview(data)
    for span in batches(view):
        part = view[span.position : span.position + span.size]
        if span.magic < v2.MAGIC:
            yield from message_sets.iter_records(part, check, limit_bytes)
            continue
        header = v2.parse_header(part)
        if check:
            v2.check(part, 0, header)
        if not header.control:
            yield from v2.stream_records(part, limit_bytes)


def down_convert(
    data: bytes | memoryview,
    to_magic: int,
    start_offset: int,
    max_bytes: int,
    limit_bytes: int = LIMIT_BYTES,
) -> bytes:
    """Return stored records in a format that an old fetcher reads: magic 0 for Fetch v0-1, 1 for v2-3.

    Batches of *to_magic* or less are given as they stand. In the others offsets, codec and kind of
    timestamp are kept; headers, and what magic 0 has no room for, are lost; records below *start_offset*
    and control batches are left out.

    A batch of which the records would take more than :data:`CONVERTED_BYTES` is given in parts: the records
    that follow are asked for by the next fetch, with their own offset.

    :param max_bytes: no batch is added that would exceed it, but the first always is.
    :param limit_bytes: how large one decompressed batch may be, and about how much is converted in all.
    :return: empty where there is no whole batch, or nothing is left of the batches.
    :raises UnsupportedCompression: a zstd batch comes first. A later one ends the result, and is asked for
        by the next fetch.
    :raises CorruptRecords: a batch that had to be opened is garbage; its CRC is checked.
    """
    view = memoryview(data)
    parts: list[bytes | memoryview] = []
    total, room = 0, limit_bytes
    for span in batches(view):
        part: bytes | memoryview = view[span.position : span.position + span.size]
        whole = True
        if span.magic > to_magic:
            if room <= 0:
                break
            try:
                lowered = _lower(memoryview(part), span.magic, to_magic, start_offset, limit_bytes)
            except UnsupportedCompression:
                if parts:
                    break
                raise
            part, whole = lowered.data, lowered.whole
            room -= lowered.taken_bytes
        if parts and total + len(part) > max_bytes:
            break
        if len(part):
            parts.append(part)
            total += len(part)
        if not whole:
            break
    return b"".join(parts)


class _Lowered(NamedTuple):
    """The first records of a batch in another format; ``whole``: True if these are all."""

    data: bytes
    whole: bool
    taken_bytes: int


def _lower(part: memoryview, magic: int, to_magic: int, start_offset: int, limit_bytes: int) -> _Lowered:
    """Convert one batch, or one outer message of magic 1, or as much of it as a reply should hold."""
    if magic == v2.MAGIC:
        header = v2.parse_header(part)
        codec, log_append_time = header.codec, header.log_append_time
    else:
        message = next(messages.iter_messages(part, whole=True))
        codec, log_append_time = message.codec, message.log_append_time
    if codec == Codec.ZSTD:
        raise UnsupportedCompression(f"zstd cannot be read by a fetcher of message format v{to_magic}")
    most_bytes = max(CONVERTED_BYTES, 0 if codec else len(part))
    kept: list[Record] = []
    size, whole = 0, True
    for record in stream_any(part, True, limit_bytes):
        if record.offset < start_offset:
            continue
        record_bytes = messages.OVERHEAD[to_magic] + len(record.key or b"") + len(record.value or b"")
        if kept and size + record_bytes > most_bytes:
            whole = False
            break
        kept.append(record)
        size += record_bytes
    return _Lowered(message_sets.build(kept, to_magic, codec, None, log_append_time), whole, size)


def up_convert(data: bytes | memoryview, limit_bytes: int = LIMIT_BYTES) -> list[Record]:
    """Yield the records of a message set (magic 0 and 1), decompressed, with absolute offsets.

    :raises CorruptRecords: a CRC does not match, a message is cut off, or the bytes are no message set.
    :raises UnsupportedCompression: a codec is unknown or not installed.
    """
    for _ in messages.iter_messages(data, whole=True):
        pass
    return list(message_sets.iter_records(data, True, limit_bytes))


def recompress(
    batch: bytes | memoryview,
    codec: Codec,
    level: int | None = None,
    limit_bytes: int = LIMIT_BYTES,
    payload: bytes | None = None,
) -> bytes:
    """Return a batch of magic 2 with its records in another codec; all else in its header is kept.

    The records are not decoded.

    :param payload: the records, where they are inflated already.
    :raises CorruptRecords: the batch is cut off, of another magic, or cannot be decompressed.
    :raises UnsupportedCompression: one of the codecs is unknown or not installed.
    """
    header = v2.parse_header(batch)
    if header.magic != v2.MAGIC:
        raise CorruptRecords(f"magic {header.magic} where {v2.MAGIC} is expected")
    data = v2.payload(batch, header, limit_bytes) if payload is None else payload
    return assemble(
        compress(codec, data, level),
        header.count,
        header.attributes & ~v2.COMPRESSION_MASK | codec,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.base_offset,
        header.partition_leader_epoch,
        header.last_offset_delta,
    )
