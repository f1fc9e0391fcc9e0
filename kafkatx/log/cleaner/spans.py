"""The positions of the records in a magic-2 batch, with the fields that the cleaner needs. Pure.

A retained record keeps every byte, because base offset and base timestamp of the batch do not change. So
records are decoded only up to their key, and the retained ones are cut out of the payload.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from kafkatx.errors import CorruptRecords
from kafkatx.records.varint import VARLONG_BYTES, encode, rest


@attrs.define
class Spans:
    """Columns with one entry per record; ``starts`` has one more, the end of the last record.

    ``timestamps`` are deltas to the batch's base timestamp.
    """

    starts: list[int]
    offsets: list[int]
    keys: list[bytes | None]
    timestamps: list[int]
    tombstones: list[bool]


def find_spans(data: bytes, count: int, base_offset: int) -> Spans:
    """Find the *count* records of a decompressed payload.

    :raises CorruptRecords: the payload does not consist of this number of complete records.
    """
    spans = Spans([0], [], [], [], [])
    try:
        end = _find(data, count, base_offset, spans)
    except IndexError:
        raise CorruptRecords("the batch ends within a record") from None
    if end != len(data):
        raise CorruptRecords(f"{len(data) - end} bytes follow the batch's {count} records")
    return spans


def _find(data: bytes, count: int, base_offset: int, spans: Spans) -> int:
    """Find the records in one loop, with short varints read inline, as in :mod:`kafkatx.records.batch`.

    :return: the position after the last record.
    :raises IndexError: the data ends within a record.
    """
    add_start, add_offset, add_key = spans.starts.append, spans.offsets.append, spans.keys.append
    add_timestamp, add_tombstone = spans.timestamps.append, spans.tombstones.append
    size = len(data)
    end = 0
    for _ in range(count):
        at = end
        n = data[at]
        at += 1
        if n >= 0x80:
            byte = data[at]
            if byte < 0x80:
                n += (byte << 7) - 0x80
                at += 1
            else:
                n, at = rest(data, at, n)
        end = at + (n >> 1)
        if n & 1 or end > size:
            raise CorruptRecords("a record is longer than its batch")
        n = data[at + 1]  # after the attributes
        at += 2
        if n >= 0x80:
            n, at = rest(data, at, n, VARLONG_BYTES)
        add_timestamp((n >> 1) ^ -(n & 1))
        n = data[at]
        at += 1
        if n >= 0x80:
            byte = data[at]
            if byte < 0x80:
                n += (byte << 7) - 0x80
                at += 1
            else:
                n, at = rest(data, at, n)
        add_offset(base_offset + (n >> 1))
        n = data[at]
        at += 1
        if n >= 0x80:
            n, at = rest(data, at, n)
        if n & 1:
            add_key(None)
        else:
            start = at
            at += n >> 1
            add_key(data[start:at])
        add_tombstone(data[at] & 1 == 1)  # zigzag: an odd length is negative, that is null
        if at >= end:
            raise CorruptRecords("a record is not as long as it says")
        add_start(end)
    return end


def find_keys(data: bytes, count: int, base_offset: int) -> tuple[list[bytes | None], list[int]]:
    """Find keys and offsets only. Half of the cleaner's time is spent here.

    :raises CorruptRecords: as :func:`find_spans`.
    """
    keys: list[bytes | None] = []
    offsets: list[int] = []
    try:
        end = _find_keys(data, count, base_offset, keys.append, offsets.append)
    except IndexError:
        raise CorruptRecords("the batch ends within a record") from None
    if end != len(data):
        raise CorruptRecords(f"{len(data) - end} bytes follow the batch's {count} records")
    return keys, offsets


def _find_keys(
    data: bytes,
    count: int,
    base_offset: int,
    add_key: Callable[[bytes | None], None],
    add_offset: Callable[[int], None],
) -> int:
    end = 0
    for _ in range(count):
        at = end + 1
        n = data[end]
        if n >= 0x80:
            byte = data[at]
            if byte < 0x80:
                n += (byte << 7) - 0x80
                at += 1
            else:
                n, at = rest(data, at, n)
        end = at + (n >> 1)
        at += 1  # the attributes
        while data[at] >= 0x80:  # the timestamp
            at += 1
        n = data[at + 1]
        at += 2
        if n >= 0x80:
            byte = data[at]
            if byte < 0x80:
                n += (byte << 7) - 0x80
                at += 1
            else:
                n, at = rest(data, at, n)
        add_offset(base_offset + (n >> 1))
        n = data[at]
        at += 1
        if n >= 0x80:
            n, at = rest(data, at, n)
        if n & 1:
            add_key(None)
        else:
            n >>= 1
            add_key(data[at : at + n])
            at += n
        if at >= end:
            raise CorruptRecords("a record is not as long as it says")
    return end


def cut(data: bytes, spans: Spans, kept: list[int]) -> bytes:
    """Return the payload of the records with the numbers in *kept*, unchanged."""
    starts = spans.starts
    return b"".join([data[starts[number] : starts[number + 1]] for number in kept])


def cut_rebased(data: bytes, spans: Spans, kept: list[int], shift_ms: int) -> bytes:
    """Return the payload for a base timestamp that is *shift_ms* earlier: each delta grows by that."""
    parts: list[bytes] = []
    for number in kept:
        at, end = spans.starts[number], spans.starts[number + 1]
        at = _after(data, at) + 1
        attributes = data[at - 1 : at]
        body = attributes + encode(spans.timestamps[number] + shift_ms) + data[_after(data, at) : end]
        parts += (encode(len(body)), body)
    return b"".join(parts)


def _after(data: bytes, at: int) -> int:
    """Return the position after the varint at *at*."""
    while data[at] >= 0x80:
        at += 1
    return at + 1
