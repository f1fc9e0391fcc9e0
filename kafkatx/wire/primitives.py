"""What every codec needs at run time: unsigned varints, tagged fields, and the errors of bad bytes.

An unsigned varint is little-endian in groups of seven bits, the high bit of each byte saying that more
follow (KIP-482): 0..127 in one byte, 300 is ``ac 02``. Lengths of *compact* strings, bytes and arrays are
varints of length + 1, 0 standing for null.
"""

from __future__ import annotations

import struct

from kafkatx.errors import ProtocolViolation

ONE_BYTE = 128
"""Varints below this take one byte."""

ONE_BYTE_VARINTS = [bytes([value]) for value in range(ONE_BYTE)]

MALFORMED = (struct.error, IndexError, UnicodeDecodeError)
"""What reading bytes that end too early, or that are no UTF-8, raises below the codecs."""

UNFIT = (struct.error, TypeError, AttributeError)
"""What writing a value that its field cannot hold raises below the codecs."""


def read_uvarint(buffer: memoryview | bytes, at: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits; return it and the position after it.

    :raises ProtocolViolation: it takes more than five bytes or 32 bits.
    :raises IndexError: the buffer ends before it does.
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
    """Write a number that is not negative as an unsigned varint."""
    if value < ONE_BYTE:
        return ONE_BYTE_VARINTS[value]
    groups = bytearray()
    while value >= ONE_BYTE:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def skip_tagged(buffer: memoryview | bytes, at: int) -> int:
    """Pass over a section of tagged fields, whose count stands at *at*; return the position after it.

    The section: count (uvarint), then for each field its tag (uvarint), its size (uvarint) and its bytes.
    """
    count, at = read_uvarint(buffer, at)
    for _ in range(count):
        _tag, at = read_uvarint(buffer, at)
        size, at = read_uvarint(buffer, at)
        at += size
    return at


def tagged(tag: int, parts: list[bytes]) -> bytes:
    """One tagged field: tag, size, bytes."""
    data = b"".join(parts)
    return uvarint(tag) + uvarint(len(data)) + data


def cut_short(what: str, size: int) -> ProtocolViolation:
    """The error of a message that needs more bytes than there are."""
    return ProtocolViolation(f"{what} does not fit the {size} bytes it came in")


def unexpected_null(what: str, field: str) -> ProtocolViolation:
    """The error of a null where the version allows none."""
    return ProtocolViolation(f"{what}: {field} must not be null")


def too_many(what: str, field: str, count: int, left: int) -> ProtocolViolation:
    """The error of an array that says it holds more than the bytes that are left could."""
    return ProtocolViolation(f"{what}: {field} says it holds {count} elements, with {left} bytes left")


def too_many_items(what: str, most: int) -> ProtocolViolation:
    """The error of a message whose arrays together hold more elements than are taken."""
    return ProtocolViolation(f"{what} has more than {most} elements (kafkatx.request.max.items)")


def wrong_tag_size(what: str, field: str) -> ProtocolViolation:
    """The error of a tagged field whose value is shorter or longer than its size says."""
    return ProtocolViolation(f"{what}: tagged field {field} is not as long as it says")
