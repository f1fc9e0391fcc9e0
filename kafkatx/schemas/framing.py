"""The wire formats that tell a message's schema: a prefix of the message, or a header beside it. Pure.

Prefix (magic byte 0), before the payload::

    00 | schema id: u32, big endian | message indexes (Protobuf only)

Header ``__key_schema_id`` or ``__value_schema_id`` (magic byte 1); the payload is then bare::

    01 | GUID: 16 bytes | message indexes (Protobuf only)

Message indexes name one message of a Protobuf file: its place among the messages of the file, then its place
among the messages nested in that one, and so on. They are zigzag varints, their count first; ``[0]`` (the
first message of the file) is the single byte 00.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from kafkatx.errors import KafkaTXError

PREFIX_MAGIC, HEADER_MAGIC = 0, 1
PREFIX_SIZE = 5
GUID_SIZE = 16

KEY_HEADER, VALUE_HEADER = "__key_schema_id", "__value_schema_id"

MAX_INDEXES = 64
"""Limit of nested messages; a damaged message could announce any number."""

FIRST_MESSAGE: tuple[int, ...] = (0,)


class BadFrame(KafkaTXError):
    """A message or header does not tell its schema in a known format."""


def prefix(schema_id: int) -> bytes:
    """Return the bytes before a payload, without message indexes."""
    return b"\0" + schema_id.to_bytes(4, "big")


def prefix_id(data: bytes | memoryview) -> int:
    """Return the schema id of a message with a prefix.

    :raises BadFrame: it has none.
    """
    if len(data) < PREFIX_SIZE:
        raise BadFrame(f"{len(data)} bytes are too short for the prefix with a schema id")
    if data[0] != PREFIX_MAGIC:
        raise BadFrame(f"the first byte is {data[0]}, not 0: there is no prefix with a schema id")
    return int.from_bytes(data[1:PREFIX_SIZE], "big")


def header_value(guid: str) -> bytes:
    """Return the value of a schema header, without message indexes.

    :raises ValueError: *guid* is no GUID.
    """
    return bytes([HEADER_MAGIC]) + uuid.UUID(guid).bytes


def header_guid(value: bytes | memoryview) -> str:
    """Return the GUID in a schema header.

    :raises BadFrame: it has another format.
    """
    if len(value) <= GUID_SIZE or value[0] != HEADER_MAGIC:
        raise BadFrame(f"the schema header has {len(value)} bytes; expected a byte 1 and a GUID of 16 bytes")
    return str(uuid.UUID(bytes=bytes(value[1 : 1 + GUID_SIZE])))


def encode_indexes(indexes: Sequence[int]) -> bytes:
    """Return the bytes of message indexes."""
    if tuple(indexes) == FIRST_MESSAGE:
        return b"\0"
    return b"".join(map(_zigzag, (len(indexes), *indexes)))


def decode_indexes(data: bytes | memoryview, at: int) -> tuple[tuple[int, ...], int]:
    """Read message indexes; return them and the position after them.

    :raises BadFrame: they are cut off, negative or too many.
    """
    count, at = _unzigzag(data, at)
    if not 0 <= count <= MAX_INDEXES:
        raise BadFrame(f"{count} message indexes; there may be {MAX_INDEXES}")
    if not count:
        return FIRST_MESSAGE, at
    found = []
    for _ in range(count):
        index, at = _unzigzag(data, at)
        if index < 0:
            raise BadFrame(f"the message index {index} is negative")
        found.append(index)
    return tuple(found), at


def _zigzag(value: int) -> bytes:
    left = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _unzigzag(data: bytes | memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            raise BadFrame("the message indexes are cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise BadFrame("a message index has more than five bytes")
