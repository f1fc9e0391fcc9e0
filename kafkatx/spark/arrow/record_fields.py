"""The positions of the fields of many records within their bytes: numpy reads the varints of one field of all
records at once.

First, the beginning of each record is needed, which takes the lengths of all records before it. Consecutive
records of one length are skipped at once; otherwise a short loop in Python goes from length to length.

The checks are those of :func:`kafkatx.records.batch.read_columns`. A caller that gets
:class:`UnsupportedRecords` calls that function, which handles every case and reports what is wrong.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kafkatx.records.varint import VARINT_BYTES, VARLONG_BYTES

Integers: TypeAlias = npt.NDArray[np.int64]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Octets: TypeAlias = npt.NDArray[np.uint8]

_FEW = 64
"""Runs of fewer records of one length are not searched for: that costs more than going over them."""
_MANY = 4096
"""Records that are gone over, at most, before one length is searched for again."""


class UnsupportedRecords(Exception):
    """Records that are not read here: damaged, or of a rare kind."""


class Fields(NamedTuple):
    """A row for each record: numbers, and positions in the data, ends exclusive."""

    timestamp_deltas: Integers
    offset_deltas: Integers
    key_starts: Integers
    key_ends: Integers
    null_keys: Booleans
    value_starts: Integers
    value_ends: Integers
    null_values: Booleans
    with_headers: Booleans


def record_starts(data: bytes, at: int, end: int, count: int) -> list[Integers]:
    """Return arrays, to be concatenated, of the positions at which *count* records begin, the first of them
    at *at*.

    :raises UnsupportedRecords: they do not end at *end*.
    :raises IndexError: the data end before they do.
    """
    octets = np.frombuffer(data, np.uint8)
    found: list[Integers] = []
    look = walk = _FEW
    while count >= 2 * _FEW:
        starts, at = _one_length(data, octets, at, min(look, count))
        found.append(starts)
        count -= len(starts)
        if len(starts) >= _FEW:
            # Look farther ahead only after a shorter look has succeeded, so that the time stays linear.
            look, walk = 8 * look if len(starts) == look else _FEW, _FEW
        else:
            starts, at = _walk(data, at, min(walk, count))
            found.append(starts)
            count -= len(starts)
            look, walk = _FEW, min(2 * walk, _MANY)
    starts, at = _walk(data, at, count)
    found.append(starts)
    if at != end or count < 0:
        raise UnsupportedRecords
    return found


def _one_length(data: bytes, octets: Octets, at: int, most: int) -> tuple[Integers, int]:
    """Go over as many records, at least one, as have the length of the first; return their starts and end."""
    after, end = _length(data, at)
    size, count = end - at, most
    for position in range(at, after):
        same = octets[position : position + size * count : size] == data[position]
        count = len(same) if same.all() else int(same.argmin())
    return np.arange(at, at + size * count, size), at + size * count


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return the position behind a record's length, and the position behind the record."""
    n = shift = 0
    for position in range(at, at + VARINT_BYTES):
        byte = data[position]
        n |= (byte & 0x7F) << shift
        if byte < 0x80:
            return position + 1, position + 1 + (n >> 1)
        shift += 7
    raise UnsupportedRecords


def _walk(data: bytes, at: int, count: int) -> tuple[Integers, int]:
    """Go over *count* records; return their starts and the end of the last.

    Most of the time per record is spent here, so common cases are read in place.
    """
    starts: list[int] = []
    add = starts.append
    for _ in range(count):
        add(at)
        n = data[at]
        if n < 0x80:
            at += (n >> 1) + 1
        else:
            byte = data[at + 1]
            if byte < 0x80:
                at += ((n & 0x7F | byte << 7) >> 1) + 2
            else:
                _, at = _length(data, at)
    return np.array(starts, np.int64), at


def read_fields(data: bytes, starts: Integers, ends: Integers) -> Fields:
    """Read the fields of records that begin and end at these positions.

    :raises UnsupportedRecords: a record is damaged, or a number needs more than 63 bits.
    :raises IndexError: a record leads out of the data.
    """
    octets = np.frombuffer(data, np.uint8)
    length, at = _varints(octets, starts, VARINT_BYTES)
    if (length & 1).any():  # negative; otherwise it is what the ends were made of
        raise UnsupportedRecords
    timestamp_deltas, at = _varints(octets, at + 1, VARLONG_BYTES)  # after the attributes
    offset_deltas, at = _varints(octets, at, VARINT_BYTES)
    null_keys, key_starts, key_ends = _byte_strings(octets, at)
    null_values, value_starts, value_ends = _byte_strings(octets, key_ends)
    with_headers = octets[value_ends] != 0
    if not np.where(with_headers, value_ends < ends, value_ends + 1 == ends).all():
        raise UnsupportedRecords
    return Fields(
        _signed(timestamp_deltas),
        _signed(offset_deltas),
        key_starts,
        key_ends,
        null_keys,
        value_starts,
        value_ends,
        null_values,
        with_headers,
    )


def _varints(octets: Octets, at: Integers, max_bytes: int) -> tuple[Integers, Integers]:
    """Read one varint at each position; return them in zigzag form, and the positions after them."""
    values = octets[at].astype(np.int64)
    at = at + 1
    more = values >> 7
    if more.any():
        values &= 0x7F
        for shift in range(7, min(7 * max_bytes, 63), 7):
            # Values that have ended read the next field and ignore it. There is one, as headers come last.
            byte = octets[at].astype(np.int64)
            values |= (byte & 0x7F) * more << shift
            at += more
            more &= byte >> 7
            if not more.any():
                break
        else:
            raise UnsupportedRecords
    return values, at


def _byte_strings(octets: Octets, at: Integers) -> tuple[Booleans, Integers, Integers]:
    """Read lengths, negative ones for null; return which are null, and where the others begin and end."""
    length, starts = _varints(octets, at, VARINT_BYTES)
    # Half of the zigzag form of -1 is 0. Another negative length gives a wrong end, which is found later.
    return (length & 1).astype(bool), starts, starts + (length >> 1)


def _signed(zigzag: Integers) -> Integers:
    return (zigzag >> 1) ^ -(zigzag & 1)
