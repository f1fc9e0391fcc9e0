"""Functions that the generated codecs call: unsigned varints, tagged fields, and errors of bad bytes. Pure.

An unsigned varint is little-endian in groups of seven bits; the high bit of each byte is set if more follow
(KIP-482): 0..127 take one byte, 300 is ``ac 02``. Lengths of *compact* strings, bytes and arrays are varints
of length + 1; 0 means null.
"""

from __future__ import annotations

import struct

from kafkatx.errors import ProtocolViolation

ONE_BYTE = 128
"""Varints below this take one byte."""

ONE_BYTE_VARINTS = [bytes([value]) for value in range(ONE_BYTE)]

MALFORMED = (struct.error, IndexError, UnicodeDecodeError)
"""Exceptions from reading bytes that end too early or are not UTF-8."""

UNFIT = (struct.error, TypeError, AttributeError)
"""Exceptions from writing a value that does not fit its field."""


def read_uvarint(buffer: memoryview | bytes, at: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits; return it and the position after it.

    :raises ProtocolViolation: it has more than five bytes or 32 bits.
    :raises IndexError: the buffer ends before it.
    """
    value = shift = 0
    while True:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < ONE_BYTE:
            break
        shift += 7
        if shift > 28:
            raise ProtocolViolation(f"the varint at byte {at - 5} takes more than five bytes")
    if value > 0xFFFFFFFF:
        raise ProtocolViolation(f"the varint before byte {at} takes more than 32 bits")
    return value, at


def uvarint(value: int) -> bytes:
    """Return a non-negative number as an unsigned varint."""
    if value < ONE_BYTE:
        return ONE_BYTE_VARINTS[value]
    groups = bytearray()
    while value >= ONE_BYTE:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def skip_tagged(buffer: memoryview | bytes, at: int) -> int:
    """Skip a section of tagged fields, whose count is at *at*; return the position after it.

    The section is a count (uvarint), then for each field its tag (uvarint), its size (uvarint) and its bytes.
    """
    count, at = read_uvarint(buffer, at)
    for _ in range(count):
        _tag, at = read_uvarint(buffer, at)
        size, at = read_uvarint(buffer, at)
        at += size
    return at


def tagged(tag: int, parts: list[bytes]) -> bytes:
    """Return a tagged field: tag, size, bytes."""
    data = b"".join(parts)
    return uvarint(tag) + uvarint(len(data)) + data


def cut_short(what: str, size: int) -> ProtocolViolation:
    """Return the error for a message that needs more bytes than there are."""
    return ProtocolViolation(f"{what} does not fit the {size} bytes it came in")


def unexpected_null(what: str, field: str) -> ProtocolViolation:
    """Return the error for a null that the version does not allow."""
    return ProtocolViolation(f"{what}: {field} must not be null")


def too_many(what: str, field: str, count: int, left: int) -> ProtocolViolation:
    """Return the error for an array with more elements than the remaining bytes can hold."""
    return ProtocolViolation(f"{what}: {field} says it holds {count} elements, with {left} bytes left")


def too_many_items(what: str, most: int) -> ProtocolViolation:
    """Return the error for a message whose arrays have more elements than the limit."""
    return ProtocolViolation(f"{what} has more than {most} elements (kafkatx.request.max.items)")


def wrong_tag_size(what: str, field: str) -> ProtocolViolation:
    """Return the error for a tagged field whose size is not that of its value."""
    return ProtocolViolation(f"{what}: tagged field {field} is not as long as it says")
