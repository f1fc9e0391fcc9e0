"""Message sets of magic 0 and 1: reading, building, and assigning offsets to what producers send.

The layout of a message is told in :mod:`kafkatx.records.legacy.messages`.

When a broker assigns offsets, what must change depends on the message; everything else stays byte for byte:

=====================  ==============  ==============================================================
message                its offset      besides
=====================  ==============  ==============================================================
magic 0                next            nothing: offset and size stand outside the CRC
magic 1                next            LogAppendTime: attribute bit 3, timestamp, CRC
magic 1, compressed    last inner's    as above; CreateTime: timestamp of the newest inner message, if it
                                       is another; inner offsets other than 0, 1, 2...: compressed anew
magic 0, compressed    last inner's    compressed anew with absolute inner offsets, unless they are right
=====================  ==============  ==============================================================

As Apache Kafka's ``LogValidator`` does it for topics that keep the producer's codec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from struct import Struct
from typing import NamedTuple

from kafkatx.errors import ErrorCode, RequestError, UnsupportedCompression
from kafkatx.records.batch import LOG_OVERHEAD, TIMESTAMP_TYPE, Record
from kafkatx.records.compression import LIMIT_BYTES, Codec, compress
from kafkatx.records.legacy.messages import (
    ENTRY,
    Inner,
    LegacyMessage,
    check,
    encode_message,
    iter_messages,
    unwrap,
)
from kafkatx.types import NO_TIMESTAMP

__all__ = [
    "AssignedInfo",
    "AssignedPosition",
    "LegacyMessage",
    "assign_offsets",
    "build",
    "iter_messages",
    "iter_records",
    "keyless",
]

_I64 = Struct(">q")
_MOST_FAULTS = 1000


def iter_records(
    data: bytes | memoryview, check_crc: bool = True, limit_bytes: int = LIMIT_BYTES
) -> Iterator[Record]:
    """Yield every record of a message set, wrappers opened, offsets absolute.

    A message at the end that is cut off is left out, as in fetch replies.

    :param check_crc: check the outer messages too; inner ones always are.
    :param limit_bytes: how large one decompressed wrapper may be.
    :raises CorruptRecords: a CRC does not match, or the bytes are no message set.
    :raises UnsupportedCompression: a codec is unknown or not installed.
    """
    for message in iter_messages(data):
        if check_crc:
            check(data, message)
        if message.attributes & 7:
            yield from _inner_records(message, limit_bytes)
        else:
            yield Record(message.offset, message.timestamp, message.key, message.value, [])


def _inner_records(wrapper: LegacyMessage, limit_bytes: int) -> Iterator[Record]:
    inner = unwrap(wrapper, limit_bytes)
    first = wrapper.offset - inner.last_offset if wrapper.magic else 0
    for one in inner:
        timestamp = wrapper.timestamp if wrapper.log_append_time else one.timestamp
        yield Record(first + one.offset, timestamp, one.key, one.value, [])


def build(
    records: Iterable[Record],
    magic: int,
    codec: Codec = Codec.NONE,
    base_offset: int | None = None,
    log_append_time: bool = False,
    level: int | None = None,
) -> bytes:
    """Build a message set; with a codec it is one wrapper. Headers are dropped: the format has none.

    :param base_offset: the first record's offset, the others' following; None: each has its own.
    :param log_append_time: magic 1: the timestamps are a broker's.
    :return: empty if there are no records.
    :raises UnsupportedCompression: the codec is zstd or not installed.
    """
    attributes = TIMESTAMP_TYPE if magic and log_append_time else 0
    kept = list(records)
    offsets = (
        [record.offset for record in kept]
        if base_offset is None
        else list(range(base_offset, base_offset + len(kept)))
    )
    first = offsets[0] if offsets and codec != Codec.NONE and magic else 0
    messages = b"".join(
        encode_message(offset - first, magic, attributes, record.timestamp, record.key, record.value)
        for offset, record in zip(offsets, kept, strict=True)
    )
    if codec == Codec.NONE or not kept:
        return messages
    if codec == Codec.ZSTD:
        raise UnsupportedCompression(f"zstd cannot be used in message format v{magic}")
    newest = max(record.timestamp for record in kept)
    value = compress(codec, messages, level, magic)
    return encode_message(offsets[-1], magic, attributes | codec, newest, None, value)


class AssignedPosition(NamedTuple):
    """The position of an outer message in the set as stored, for the offset index and the time index."""

    position: int
    last_offset: int
    max_timestamp: int


class AssignedInfo(NamedTuple):
    """The facts that a log needs of a message set with assigned offsets.

    ``count`` records, of which the last has ``last_offset`` (base_offset - 1 if there are none);
    ``max_timestamp`` in ms, -1 where no message has a time, and the offset of the first that has it
    (-1 likewise; within a wrapper of LogAppendTime it is the last inner message's, as in Apache Kafka).
    """

    count: int  # type: ignore[assignment]  # hides tuple.count
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    positions: tuple[AssignedPosition, ...]


class _Stored(NamedTuple):
    """One outer message, ready to be stored."""

    data: bytes | memoryview
    records: int
    max_timestamp: int
    index_of_max_timestamp: int
    inflated_bytes: int = 0


def assign_offsets(
    data: memoryview,
    base_offset: int,
    log_append_time_ms: int | None,
    limit_bytes: int = LIMIT_BYTES,
) -> tuple[bytes, AssignedInfo]:
    """Check a message set that a producer sent; return it with its offsets, ready to be stored.

    :param data: a message set of magic 0 or 1, or of both.
    :param base_offset: what the first record gets; the others follow without gaps.
    :param log_append_time_ms: the topic's LogAppendTime; None for CreateTime.
    :param limit_bytes: how large all wrappers together may be when decompressed.
    :raises CorruptRecords: a CRC does not match, a message is cut off, or the bytes are no message set.
    :raises UnsupportedCompression: a codec is unknown, not installed, or zstd.
    :raises RequestError: INVALID_TIMESTAMP where the producer claims the broker's time.
    """
    parts: list[bytes | memoryview] = []
    positions: list[AssignedPosition] = []
    at, offset = 0, base_offset
    newest, offset_of_newest = NO_TIMESTAMP, -1
    for message in iter_messages(data, whole=True):
        check(data, message)
        if message.log_append_time:
            raise RequestError(ErrorCode.INVALID_TIMESTAMP, "a producer sent a message with LogAppendTime")
        stored = _store(data, message, offset, log_append_time_ms, limit_bytes)
        if stored.max_timestamp > newest:
            newest, offset_of_newest = stored.max_timestamp, offset + stored.index_of_max_timestamp
        offset += stored.records
        limit_bytes -= stored.inflated_bytes
        positions.append(AssignedPosition(at, offset - 1, stored.max_timestamp))
        parts += (_I64.pack(offset - 1), stored.data[8:])
        at += len(stored.data)
    info = AssignedInfo(offset - base_offset, offset - 1, newest, offset_of_newest, tuple(positions))
    return b"".join(parts), info


def _store(
    data: memoryview, message: LegacyMessage, offset: int, append_ms: int | None, limit_bytes: int
) -> _Stored:
    """Convert one outer message to the form that is stored, except for its own offset."""
    if message.attributes & 7:
        return _store_wrapper(data, message, offset, append_ms, limit_bytes)
    if message.magic and append_ms is not None:
        return _Stored(_stamp(message, TIMESTAMP_TYPE, append_ms), 1, append_ms, 0)
    return _Stored(_raw(data, message), 1, message.timestamp, 0)


def _store_wrapper(
    data: memoryview, wrapper: LegacyMessage, offset: int, append_ms: int | None, limit_bytes: int
) -> _Stored:
    inner = unwrap(wrapper, limit_bytes)
    count = inner.messages
    first = 0 if wrapper.magic else offset
    changed = not inner.dense or inner.first_offset != first
    if changed:
        wrapper = wrapper._replace(value=_renumber(wrapper, inner, first))
    inflated = len(inner.data)
    if wrapper.magic and append_ms is not None:
        return _Stored(_stamp(wrapper, TIMESTAMP_TYPE, append_ms), count, append_ms, count - 1, inflated)
    newest = inner.newest
    if changed or newest != wrapper.timestamp:
        return _Stored(_stamp(wrapper, 0, newest), count, newest, inner.index_of_newest, inflated)
    return _Stored(_raw(data, wrapper), count, newest, inner.index_of_newest, inflated)


def _raw(data: memoryview, message: LegacyMessage) -> memoryview:
    return data[message.position : message.position + message.size]


def _stamp(message: LegacyMessage, time_type: int, timestamp: int) -> bytes:
    """Encode a message again with another timestamp, and so another CRC."""
    return encode_message(
        0, message.magic, message.attributes | time_type, timestamp, message.key, message.value
    )


def _renumber(wrapper: LegacyMessage, inner: Inner, first: int) -> bytes:
    """Write the inner offsets from *first* on and compress again; inner CRCs do not cover offsets."""
    numbered = bytearray(inner.data)
    for offset, one in enumerate(inner, first):
        ENTRY.pack_into(numbered, one.position, offset, one.size - LOG_OVERHEAD)
    return compress(wrapper.codec, bytes(numbered), magic=wrapper.magic)


def keyless(data: bytes, limit_bytes: int = LIMIT_BYTES) -> list[int]:
    """Return the numbers of the records in a message set that have no key, a thousand at most.

    :raises CorruptRecords: as :func:`iter_records`.
    """
    records = enumerate(iter_records(data, False, limit_bytes))
    return list(islice((number for number, record in records if record.key is None), _MOST_FAULTS))
