"""The header of a batch of record format v2 (magic 2, KIP-98), and its checks.

A batch, all numbers big-endian::

     0  base_offset             i64   offset of the first record (of the first that ever was: compaction)
     8  length                  i32   bytes that follow this field
    12  partition_leader_epoch  i32   written by the broker
    16  magic                   i8    2
    17  crc                     u32   CRC-32C of everything from byte 21 to the end of the batch
    21  attributes              i16   see the constants below
    23  last_offset_delta       i32   offset of the last record, less base_offset
    27  base_timestamp          i64   ms since the epoch
    35  max_timestamp           i64   ms since the epoch
    43  producer_id             i64   -1: the producer is not idempotent
    51  producer_epoch          i16
    53  base_sequence           i32   sequence number of the first record
    57  count                   i32   records in the batch
    61  records, compressed as one where the attributes say so

Base offset, length, leader epoch and magic stand outside the checksum: a broker stamps the first and the
third without touching the rest.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kafkatx.errors import CorruptRecords
from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import Codec, codec_numbered

MAGIC = 2
HEADER = Struct(">qiibIhiqqqhii")
HEADER_BYTES = 61
LOG_OVERHEAD = 12
"""The bytes that the length field does not count; the same in every magic."""

BASE_OFFSET_AT = 0
LENGTH_AT = 8
LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
LAST_OFFSET_DELTA_AT = 23
BASE_TIMESTAMP_AT = 27
MAX_TIMESTAMP_AT = 35
PRODUCER_ID_AT = 43
PRODUCER_EPOCH_AT = 51
BASE_SEQUENCE_AT = 53
COUNT_AT = 57

COMPRESSION_MASK = 0x07
TIMESTAMP_TYPE = 0x08
"""Attribute bit 3: every record has the time of the broker's append, which is max_timestamp."""
TRANSACTIONAL = 0x10
CONTROL = 0x20
"""Attribute bit 5: the one record is a transaction's end marker, not data."""
DELETE_HORIZON = 0x40
"""Attribute bit 6: base_timestamp is the time when compaction may drop the batch's tombstones (KIP-534)."""


class BatchHeader(NamedTuple):
    """The 61 bytes before a batch's records; see the module's docstring."""

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # Kafka's name for it; hides tuple.count

    @property
    def last_offset(self) -> int:
        """Offset of the last record, inclusive."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the last record."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size_bytes(self) -> int:
        """The whole batch, from base_offset to the last record's end."""
        return self.length + LOG_OVERHEAD

    @property
    def codec(self) -> Codec:
        """The codec of the records.

        :raises UnsupportedCompression: no codec has this number.
        """
        return codec_numbered(self.attributes)

    @property
    def log_append_time(self) -> bool:
        """True if max_timestamp is the timestamp of every record."""
        return self.attributes & TIMESTAMP_TYPE != 0

    @property
    def transactional(self) -> bool:
        """True if the batch is part of a transaction."""
        return self.attributes & TRANSACTIONAL != 0

    @property
    def control(self) -> bool:
        """True if the batch ends a transaction and holds no data."""
        return self.attributes & CONTROL != 0


def parse_header(buffer: bytes | bytearray | memoryview, at: int = 0) -> BatchHeader:
    """Read the header at *at*; :func:`check` validates its fields.

    :raises CorruptRecords: the buffer ends before the header does.
    """
    if len(buffer) - at < HEADER_BYTES:
        raise CorruptRecords(f"{len(buffer) - at} bytes cannot hold a batch header")
    return tuple.__new__(BatchHeader, HEADER.unpack_from(buffer, at))


def check(buffer: memoryview, at: int, header: BatchHeader, produced: bool = False) -> None:
    """Check a batch's frame and checksum, but not the records in it.

    :param produced: it comes from a producer: it has records, and their offsets have no gaps. A stored
        batch may have lost records, even all of them, to compaction.
    :raises CorruptRecords: size, magic, CRC, count or last_offset_delta is wrong.
    """
    if header.magic != MAGIC:
        raise CorruptRecords(f"magic {header.magic} where {MAGIC} is expected")
    end = at + LOG_OVERHEAD + header.length
    if header.length < HEADER_BYTES - LOG_OVERHEAD or end > len(buffer):
        raise CorruptRecords(f"a batch of length {header.length} in {len(buffer) - at} bytes")
    if crc32c(buffer[at + ATTRIBUTES_AT : end]) != header.crc:
        raise CorruptRecords("the batch's CRC does not match")
    delta, count = header.last_offset_delta, header.count
    if produced:
        if count <= 0 or delta != count - 1:
            raise CorruptRecords(f"{count} records with last_offset_delta {delta}")
    elif not 0 <= count <= delta + 1 or delta < 0:
        raise CorruptRecords(f"{count} records with last_offset_delta {delta}")
