"""The messages of magic 0 (Kafka 0.8) and magic 1 (0.10, KIP-32), one by one.

A message set is messages one after the other, with no count; in a fetch reply the last may be cut off.
All numbers are big-endian; a null key or value has length -1::

                  magic 0     magic 1
    offset        i64   0     i64   0     given by the broker
    size          i32   8     i32   8     bytes that follow this field
    crc           u32  12     u32  12     CRC-32 of everything from byte 16 to the message's end
    magic         i8   16     i8   16
    attributes    i8   17     i8   17     bits 0-2: codec; bit 3 (magic 1): the broker's time
    timestamp     -           i64  18     ms since the epoch
    key           i32  18     i32  26     length, then the key
    value         i32  ..     i32  ..     length, then the value

A message with a codec is a wrapper: its value is a message set, compressed as one. The wrapper's offset is
that of its last inner message. In magic 0 the inner offsets are absolute; in magic 1 they count from the
first inner message, so that a broker need not compress anew to assign offsets (KIP-31)::

    wrapper offset 107, inner 0, 1, 2, 5  ->  absolute 102, 103, 104, 107

This module knows single messages; whole sets are read, built and stored by
:mod:`kafkatx.records.legacy.message_sets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

import attrs

from kafkatx.errors import CorruptRecords
from kafkatx.records.batch import LOG_OVERHEAD, MAGIC_AT, TIMESTAMP_TYPE
from kafkatx.records.checksum import crc32
from kafkatx.records.compression import LIMIT_BYTES, Codec, codec_numbered, decompress
from kafkatx.types import NO_TIMESTAMP

CRC_AT = 12
ATTRIBUTES_AT = 17
TIMESTAMP_AT = 18
OVERHEAD = (26, 34)
"""The size of a message without key and value, offset and size included, by magic."""

ENTRY = Struct(">qi")
_HEAD = Struct(">qiIbb")
_I32 = Struct(">i")
_I64 = Struct(">q")
_V0 = Struct(">bb")
_V1 = Struct(">bbq")


class LegacyMessage(NamedTuple):
    """One message, which may be a wrapper. ``position`` and ``size`` are those of the whole entry."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    crc: int
    position: int
    size: int

    @property
    def codec(self) -> Codec:
        """The codec of the value if it is a message set; otherwise NONE.

        :raises UnsupportedCompression: no codec has this number.
        """
        return codec_numbered(self.attributes)

    @property
    def log_append_time(self) -> bool:
        """True if the timestamp is from the broker's clock."""
        return self.magic > 0 and self.attributes & TIMESTAMP_TYPE != 0


def iter_messages(data: bytes | memoryview, whole: bool = False) -> Iterator[LegacyMessage]:
    """Yield the messages of a set; wrappers are not opened, CRCs are not checked.

    :param whole: a message that is cut off is an error; otherwise it ends the iteration.
    :raises CorruptRecords: a message of another magic, or whose lengths do not fit.
    """
    at, end = 0, len(data)
    while at < end:
        if end - at < LOG_OVERHEAD:
            break
        size = ENTRY.unpack_from(data, at)[1] + LOG_OVERHEAD
        if size < OVERHEAD[0]:
            raise CorruptRecords(f"a message of {size - LOG_OVERHEAD} bytes")
        if at + size > end:
            break
        yield _message(data, at, size)
        at += size
    if whole and at < end:
        raise CorruptRecords(f"the message set ends {end - at} bytes into a message")


def _message(data: bytes | memoryview, at: int, size: int) -> LegacyMessage:
    offset, _, crc, magic, attributes = _HEAD.unpack_from(data, at)
    if magic not in (0, 1):
        raise CorruptRecords(f"a message of magic {magic} and {size - LOG_OVERHEAD} bytes")
    timestamp = _I64.unpack_from(data, at + TIMESTAMP_AT)[0] if magic else NO_TIMESTAMP
    end = at + size
    try:
        key, value_at = _nullable(data, at + OVERHEAD[magic] - 8)
        value, stop = _nullable(data, value_at)
    except StructError:
        raise CorruptRecords("the data ends within a message") from None
    if stop != end:
        raise CorruptRecords(f"key and value of a message end {end - stop} bytes before it does")
    return LegacyMessage(offset, magic, attributes, timestamp, key, value, crc, at, size)


def _nullable(data: bytes | memoryview, at: int) -> tuple[bytes | None, int]:
    """Read a length and as many bytes; return them and the position after them."""
    size: int = _I32.unpack_from(data, at)[0]
    at += 4
    if size < 0:
        return None, at
    return bytes(data[at : at + size]), at + size


def check(data: bytes | memoryview, message: LegacyMessage) -> None:
    """Check the CRC of a message of *data*.

    :raises CorruptRecords: it does not match.
    """
    end = message.position + message.size
    if crc32(data[message.position + MAGIC_AT : end]) != message.crc:
        raise CorruptRecords(f"the CRC of the message with offset {message.offset} does not match")


@attrs.frozen
class Inner:
    """The content of a wrapper: the inner message set and the result of one walk through it.

    ``dense``: the offsets, as they stand, follow each other without gaps. ``newest`` is the largest
    timestamp, ``index_of_newest`` the place of the first message that has it.
    """

    data: bytes
    messages: int
    first_offset: int
    last_offset: int
    dense: bool
    newest: int
    index_of_newest: int

    def __iter__(self) -> Iterator[LegacyMessage]:
        """Yield the inner messages with their stored offsets."""
        return iter_messages(self.data, whole=True)


def unwrap(message: LegacyMessage, limit_bytes: int = LIMIT_BYTES) -> Inner:
    """Open a wrapper and check its messages one by one, in constant memory.

    :raises CorruptRecords: it cannot be decompressed into *limit_bytes*, has no messages, a message that
        is cut off, is compressed again or has another magic, or a CRC that does not match.
    :raises UnsupportedCompression: the codec is unknown, not installed, or zstd.
    """
    if message.value is None:
        raise CorruptRecords("a compressed message without value")
    data = decompress(message.codec, message.value, limit_bytes, message.magic)
    count, first, offset, dense, newest, index = 0, 0, 0, True, NO_TIMESTAMP, 0
    for one in iter_messages(data, whole=True):
        if one.magic != message.magic:
            raise CorruptRecords(f"a message of magic {one.magic} inside of one of magic {message.magic}")
        if one.attributes & 7:
            raise CorruptRecords("a compressed message inside of a compressed one")
        check(data, one)
        if not count:
            first, newest = one.offset, one.timestamp
        else:
            dense = dense and one.offset == offset + 1
            if one.timestamp > newest:
                newest, index = one.timestamp, count
        offset = one.offset
        count += 1
    if not count:
        raise CorruptRecords("a compressed message set without messages")
    return Inner(data, count, first, offset, dense, newest, index)


def encode_message(
    offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    """Encode one message with its offset, size and CRC; magic 0 has no room for the timestamp."""
    body = b"".join(
        (
            _V1.pack(1, attributes, timestamp) if magic else _V0.pack(0, attributes),
            _I32.pack(-1 if key is None else len(key)),
            key or b"",
            _I32.pack(-1 if value is None else len(value)),
            value or b"",
        )
    )
    return ENTRY.pack(offset, len(body) + 4) + crc32(body).to_bytes(4, "big") + body
