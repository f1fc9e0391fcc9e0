"""The builder of batches of record format v2, for producers and for the log's own records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import Codec, compress
from kafkatx.records.header import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL,
)
from kafkatx.records.varint import SMALL, encode
from kafkatx.types import NO_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP

NO_SEQUENCE = -1
_NULL = b"\x01"  # the varint -1


def assemble(
    payload: bytes,
    count: int,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    last_offset_delta: int = -1,
) -> bytes:
    """Put a header before records that are encoded and compressed already, as *attributes* says.

    :param last_offset_delta: -1 where the offsets have no gaps.
    """
    batch = bytearray(HEADER_BYTES + len(payload))
    length = len(batch) - LOG_OVERHEAD
    delta = count - 1 if last_offset_delta < 0 else last_offset_delta
    fields = (delta, base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count)
    HEADER.pack_into(batch, 0, base_offset, length, leader_epoch, MAGIC, 0, attributes, *fields)
    batch[HEADER_BYTES:] = payload
    view = memoryview(batch)
    view[CRC_AT:ATTRIBUTES_AT] = crc32c(view[ATTRIBUTES_AT:]).to_bytes(4, "big")
    return bytes(batch)


class BatchBuilder:
    """The builder of one batch.

    :param level: the codec's own scale; None is its usual one.
    :param base_sequence: sequence number of the first record, for an idempotent producer.
    """

    def __init__(
        self,
        codec: Codec = Codec.NONE,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        transactional: bool = False,
        level: int | None = None,
    ) -> None:
        self.codec = codec
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.transactional = transactional
        self.level = level
        self.count = 0
        self.size_bytes = HEADER_BYTES
        """The batch's size if it is not compressed."""
        self._parts: list[bytes | memoryview] = []
        self._base_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> None:
        """Add a record at the next offset."""
        if self.count == 0:
            self._base_timestamp = self._max_timestamp = timestamp_ms
        elif timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms
        record = encode_record(self.count, timestamp_ms - self._base_timestamp, key, value, headers)
        self._parts.append(record)
        self.count += 1
        self.size_bytes += len(record)

    def append_values(self, values: Sequence[bytes], timestamp_ms: int) -> None:
        """Add at least one record, all with the same timestamp, a value and nothing else: the fast path."""
        encoded = encode_values(values, self.count, timestamp_ms - self._base_timestamp if self.count else 0)
        if self.count == 0:
            self._base_timestamp = self._max_timestamp = timestamp_ms
        elif timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms
        self._parts.append(encoded)
        self.count += len(values)
        self.size_bytes += len(encoded)

    def append_encoded(
        self, records: bytes | memoryview, count: int, timestamp_ms: int, max_timestamp_ms: int = NO_TIMESTAMP
    ) -> None:
        """Add records that are encoded already, before any others.

        :param records: with offset deltas from 0 on and timestamp deltas from *timestamp_ms*; not to be
            changed later.
        :param max_timestamp_ms: the latest timestamp; -1: all records have *timestamp_ms*.
        """
        self._base_timestamp = timestamp_ms
        self._max_timestamp = max(timestamp_ms, max_timestamp_ms)
        self._parts.append(records)
        self.count += count
        self.size_bytes += len(records)

    def build(self, base_offset: int = 0, leader_epoch: int = NO_LEADER_EPOCH) -> bytes:
        """Return the batch; the builder may be appended to and built again.

        :raises ValueError: it has no records, which no broker would accept.
        :raises UnsupportedCompression: the codec's package is missing.
        """
        if not self.count:
            raise ValueError("a batch needs at least one record")
        payload = b"".join(self._parts)
        return assemble(
            payload if self.codec == Codec.NONE else compress(self.codec, payload, self.level),
            self.count,
            self.codec | (TRANSACTIONAL if self.transactional else 0),
            self._base_timestamp,
            self._max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            base_offset,
            leader_epoch,
        )


def encode_record(
    index: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes | None]] = (),
) -> bytes:
    """Encode one record, its length first.

    :param index: its offset delta.
    """
    body = b"".join(
        (
            b"\0",
            encode(timestamp_delta),
            encode(index),
            _NULL if key is None else encode(len(key)) + key,
            _NULL if value is None else encode(len(value)) + value,
            encode_headers(headers) if headers else b"\0",
        )
    )
    return encode(len(body)) + body


def encode_headers(headers: Iterable[tuple[str, bytes | None]]) -> bytes:
    """Encode a record's headers, their count first."""
    parts = [b""]
    count = 0
    for name, value in headers:
        encoded = name.encode()
        parts += (encode(len(encoded)), encoded)
        parts += (_NULL,) if value is None else (encode(len(value)), value)
        count += 1
    parts[0] = encode(count)
    return b"".join(parts)


class _Heads(dict[int, bytes]):
    """Return the bytes before the offset delta and before the value, by the value's size; cached.

    A log's lines have some hundred sizes; the bound is for those who send every size there is.
    """

    _MOST = 1 << 14

    def __init__(self, varying_bytes: int, time: bytes = b"\0\0") -> None:
        """:param varying_bytes: what offset and timestamp take, less a byte.

        :param time: attributes and timestamp delta, if they are to be in it.
        """
        super().__init__()
        self._overhead = 4 + varying_bytes  # attributes, timestamp, offset, key, headers
        self._time = time

    def __missing__(self, size: int) -> bytes:
        if len(self) >= self._MOST:
            self.clear()
        # the count of headers, none, of the record before; then the length
        head = b"\0" + encode(self._overhead + len(encode(size)) + size) + self._time
        self[size] = head
        return head


class _Sizes(dict[int, bytes]):
    """No key, and the value's size."""

    def __missing__(self, size: int) -> bytes:
        if len(self) >= _Heads._MOST:
            self.clear()
        middle = _NULL + encode(size)
        self[size] = middle
        return middle


_HEADS = [_Heads(varying_bytes) for varying_bytes in range(6)]
_LENGTHS = [_Heads(varying_bytes, b"") for varying_bytes in range(15)]  # a timestamp has up to ten bytes
_SIZES = _Sizes()
_OFFSET_CLASSES = (0, 1 << 6, 1 << 13, 1 << 20, 1 << 27, 1 << 31)
"""Offset deltas from entry i - 1 on and below entry i take i bytes."""


def encode_values(values: Sequence[bytes], first: int = 0, timestamp_delta: int = 0) -> bytes:
    """Encode records that have a value and nothing else, all with the same timestamp.

    Every step runs over all values at once in C: four pieces a record, interleaved by slice assignment
    and joined. What differs from record to record in the first and third piece is its size only. Of another
    time than the batch's base timestamp there is a fifth, the same for all.

    :param first: the offset delta of the first record.
    """
    count = len(values)
    sizes = list(map(len, values))
    time = b"\0\0" if timestamp_delta == 0 else b"\0" + encode(timestamp_delta)
    heads: list[bytes] = []
    end = first + count
    for offset_bytes in range(1, 6):
        low, high = _OFFSET_CLASSES[offset_bytes - 1 : offset_bytes + 1]
        if low >= end:
            break
        if high > first:
            table = _HEADS if timestamp_delta == 0 else _LENGTHS
            of_class = sizes[max(low - first, 0) : high - first]
            heads += map(table[offset_bytes + len(time) - 2].__getitem__, of_class)
    step = 4 if timestamp_delta == 0 else 5
    pieces: list[bytes] = [b""] * (step * count)
    pieces[0::step] = heads
    if timestamp_delta:
        pieces[1::step] = [time] * count
    pieces[step - 3 :: step] = SMALL[first:end] if end <= len(SMALL) else map(encode, range(first, end))
    pieces[step - 2 :: step] = map(_SIZES.__getitem__, sizes)
    pieces[step - 1 :: step] = values
    pieces[0] = pieces[0][1:]
    pieces.append(b"\0")
    return b"".join(pieces)


def build_values(
    values: Sequence[bytes],
    timestamp_ms: int,
    codec: Codec = Codec.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    level: int | None = None,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """Build a batch of values without keys and headers, all with the same timestamp: the fast path.

    :raises ValueError: *values* is empty.
    :raises UnsupportedCompression: the codec's package is missing.
    """
    if not values:
        raise ValueError("a batch needs at least one record")
    payload = encode_values(values)
    return assemble(
        payload if codec == Codec.NONE else compress(codec, payload, level),
        len(values),
        codec | (TRANSACTIONAL if transactional else 0),
        timestamp_ms,
        timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        base_offset,
        leader_epoch,
    )
