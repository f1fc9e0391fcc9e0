"""Variable-length integers of record format v2: base 128, least significant group first, zigzag.

Zigzag maps 0, -1, 1, -2, 2 ... to 0, 1, 2, 3, 4 ...: small magnitudes become short. A set high bit says
that more bytes follow. Kafka's ``varint`` has at most 5 bytes, its ``varlong`` 10. The formats are
defined at https://kafka.apache.org/documentation/#recordheader and taken from Protocol Buffers.

The straight loops of :mod:`kafkatx.records.batch` and :mod:`kafkatx.records.builder` read and write
the one-byte case by themselves and come here for the rest.
"""

from __future__ import annotations

from kafkatx.errors import CorruptRecords

VARINT_BYTES = 5
VARLONG_BYTES = 10


def _encode(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


SMALL = tuple(
    [bytes((value << 1,)) for value in range(64)]
    + [bytes((low, high)) for high in range(1, 128) for low in range(0x80, 0x100, 2)]
)
"""The encodings of 0 to 8191, all of one or two bytes: most lengths and offset deltas are here."""


def encode(value: int) -> bytes:
    """Encode an integer from -2**63 to 2**63 - 1."""
    if 0 <= value < 8192:
        return SMALL[value]
    return _encode(value)


def rest(data: bytes | memoryview, at: int, first: int, max_bytes: int = VARINT_BYTES) -> tuple[int, int]:
    """Read the rest of a varint whose first byte has its high bit set.

    :param at: position after the first byte.
    :return: (value still in zigzag form, position after it).
    :raises CorruptRecords: it has more than *max_bytes* bytes.
    :raises IndexError: the data ends within it.
    """
    value = first & 0x7F
    for shift in range(7, 7 * max_bytes, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise CorruptRecords(f"a varint of more than {max_bytes} bytes")


def decode(data: bytes, at: int, max_bytes: int = VARINT_BYTES) -> tuple[int, int]:
    """Read a zigzag varint.

    :return: (value, position after it).
    :raises CorruptRecords: it has more than *max_bytes* bytes, or the data ends within it.
    """
    try:
        value = data[at]
        at += 1
        if value >= 0x80:
            value, at = rest(data, at, value, max_bytes)
    except IndexError:
        raise CorruptRecords("the data ends within a varint") from None
    return (value >> 1) ^ -(value & 1), at
