"""Records of one batch before encoding; they are encoded together when the batch is sealed.

Appending costs a few list operations a record; the encoding runs over all records at once in C where they
have the same shape. The result equals that of :meth:`kafkatx.records.builder.BatchBuilder.append`, record by
record.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import repeat
from typing import cast

from kafkatx.records.builder import encode_record, encode_values
from kafkatx.records.varint import SMALL, encode

FEW = 4
"""Runs of fewer records are encoded one by one: a run costs as much as this many records."""

_MOST = 1 << 14


class Rows:
    """Records of magic 2 that are not encoded yet.

    :ivar values: of all records, in order.
    :ivar keys: by index, of the records that have one.
    :ivar headers: by index, of the records that have any.
    :ivar times: of each run of records with one timestamp: the index of the first, and the timestamp in ms;
        one after the other, ``[0, 1700000000000, 73, 1700000000001]``.
    :ivar last_ms: the timestamp of the last record; -1 before the first.
    """

    __slots__ = ("_nulls", "headers", "keys", "last_ms", "times", "values")

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self.keys: dict[int, bytes] = {}
        self.headers: dict[int, Collection[tuple[str, bytes | None]]] = {}
        self.times: list[int] = []
        self.last_ms = -1
        self._nulls = False

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Collection[tuple[str, bytes | None]] = (),
    ) -> int:
        """Add a record; return its index."""
        index = len(self.values)
        if timestamp_ms != self.last_ms or not index:
            self.times += (index, timestamp_ms)
            self.last_ms = timestamp_ms
        if key is not None:
            self.keys[index] = key
        if headers:
            self.headers[index] = headers
        if value is None:
            self._nulls = True
        self.values.append(value)
        return index

    def extend(self, values: Sequence[bytes], timestamp_ms: int, key: bytes | None = None) -> int:
        """Add records of one time and one key without headers; return the index of the first."""
        index = len(self.values)
        if timestamp_ms != self.last_ms or not index:
            self.times += (index, timestamp_ms)
            self.last_ms = timestamp_ms
        self.values += values
        if key is not None:
            self.keys.update(zip(range(index, len(self.values)), repeat(key)))
        return index

    def payload_bytes(self) -> int:
        """Return the size of all keys and values."""
        values = filter(None, self.values) if self._nulls else cast("list[bytes]", self.values)
        return sum(map(len, values)) + sum(map(len, self.keys.values()))

    def clear(self) -> None:
        """Clear everything except :attr:`times`."""
        self.values = []
        self.keys = {}
        self.headers = {}

    def encode(self) -> bytes:
        """Return all records, with timestamps relative to the first one's."""
        count, times = len(self.values), self.times
        base_ms = times[1]
        parts = []
        for at in range(0, len(times), 2):
            first = times[at]
            end = times[at + 2] if at + 2 < len(times) else count
            parts.append(self._encode_run(first, end, times[at + 1] - base_ms))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _encode_run(self, first: int, end: int, delta_ms: int) -> bytes:
        """Encode records of one time, from *first* on, before *end*."""
        keys, values = self.keys, self.values
        if end - first >= FEW and not self.headers and not self._nulls:
            run = cast("list[bytes]", values[first:end])
            if not keys:
                return encode_values(run, first, delta_ms)
            if len(keys) == len(values):
                return encode_keyed([keys[index] for index in range(first, end)], run, first, delta_ms)
        headers = self.headers
        return b"".join(
            [
                encode_record(index, delta_ms, keys.get(index), values[index], headers.get(index, ()))
                for index in range(first, end)
            ]
        )


class _Framed(dict[int, int]):
    """The size of a field together with its length, by its size."""

    def __missing__(self, size: int) -> int:
        if len(self) >= _MOST:
            self.clear()
        framed = self[size] = size + len(encode(size))
        return framed


class _Lengths(dict[int, bytes]):
    """The count of headers, none, of the record before; then a record's length."""

    def __missing__(self, length: int) -> bytes:
        if len(self) >= _MOST:
            self.clear()
        encoded = self[length] = b"\0" + encode(length)
        return encoded


_FRAMED = _Framed()
_LENGTHS = _Lengths()


def encode_keyed(
    keys: Sequence[bytes], values: Sequence[bytes], first: int = 0, timestamp_delta: int = 0
) -> bytes:
    """Encode records that have a key and a value each and no headers, all of one time.

    As :func:`kafkatx.records.builder.encode_values`, with seven pieces a record.

    :param first: the offset delta of the first record.
    """
    count = len(values)
    end = first + count
    time = b"\0" + encode(timestamp_delta)
    offsets = SMALL[first:end] if end <= len(SMALL) else tuple(map(encode, range(first, end)))
    key_sizes, value_sizes = list(map(len, keys)), list(map(len, values))
    framed = _FRAMED.__getitem__
    common = len(time) + 1  # and the count of headers
    sizes = zip(map(len, offsets), map(framed, key_sizes), map(framed, value_sizes), strict=True)
    lengths = _LENGTHS
    pieces: list[bytes] = [time] * (7 * count)
    pieces[0::7] = [lengths[common + offset + key + value] for offset, key, value in sizes]
    pieces[2::7] = offsets
    pieces[3::7] = map(encode, key_sizes)
    pieces[4::7] = keys
    pieces[5::7] = map(encode, value_sizes)
    pieces[6::7] = values
    pieces[0] = pieces[0][1:]
    pieces.append(b"\0")
    return b"".join(pieces)
