"""Fields of Protobuf's wire format, read without a schema. Pure.

A message is a sequence of fields, each a varint ``number << 3 | type`` and a value: 0 a varint, 1 eight
bytes, 2 a varint length and that many bytes, 5 four bytes; 3 and 4 are groups, which no metrics have. Nothing
is copied, and nothing below a field is read before the caller asks: the time grows with the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
"""The types of values on the wire."""

Field: TypeAlias = "tuple[int, int, int | memoryview]"
"""Number, wire type, and value: a number for varints; the bytes of all others."""

MOST_VARINT_BYTES = 10

_DOUBLE = struct.Struct("<d")
_INT64 = struct.Struct("<q")
_SIZES = {FIXED_64: 8, FIXED_32: 4}


class Malformed(ValueError):
    """The bytes are not a message."""


def fields(data: memoryview) -> Iterator[Field]:
    """Yield the fields of a message, in order.

    :raises Malformed: a field ends after the message, or has no type that exists.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if not number:
            raise Malformed("a field has the number 0")
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = varint(data, at)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise Malformed(f"field {number} is of type {kind}")
        if size > end - at:
            raise Malformed(f"field {number} needs {size} bytes, and {end - at} are left")
        yield number, kind, data[at : at + size]
        at += size


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the varint at a position, without a sign, and the position after it.

    :raises Malformed: it does not end.
    """
    value = 0
    for shift, byte in enumerate(data[at : at + MOST_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + shift + 1
    raise Malformed("a number does not end")


def signed(value: int) -> int:
    """Return a varint of 64 bits as a number with a sign."""
    return value - (1 << 64) if value >= 1 << 63 else value


def double(data: memoryview) -> float:
    """Return eight bytes as a number.

    :raises Malformed: there are not eight of them.
    """
    return float(_unpack(_DOUBLE, data))


def int64(data: memoryview) -> int:
    """Return eight bytes as a whole number with a sign.

    :raises Malformed: there are not eight of them.
    """
    return int(_unpack(_INT64, data))


def _unpack(form: struct.Struct, data: memoryview) -> int | float:
    if len(data) != form.size:
        raise Malformed(f"a number has {len(data)} bytes")
    value: int | float = form.unpack(data)[0]
    return value
