"""Walks over the batches of a segment file: by their headers alone, or whole with their checksums.

All magics begin alike: ``offset i64, length i32`` and, at byte 16, ``magic i8``. In magic 2 the offset is
the first record's; in magic 0 and 1 it is the last one's of the message or wrapper. See
:mod:`kafkatx.records.batch` and :mod:`kafkatx.records.legacy.message_sets`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files, Reads
from kafkatx.records.batch import HEADER, HEADER_BYTES, LOG_OVERHEAD
from kafkatx.records.checksum import crc32c
from kafkatx.types import NO_LEADER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, SharedFile

_MAGIC_AT = 16
_LEGACY = Struct(">qiIbbq")
"""offset, length, crc, magic, attributes and, in magic 1, timestamp."""
_LEGACY_BYTES = (26, 34)
"""The least that a message of magic 0 or 1 takes: null key, null value."""

_CODEC = 7
ALWAYS_SPARSE = 2**63 - 1
_CHUNK_BYTES = 8192
_WHOLE_CHUNK_BYTES = 1 << 20


class Shallow(NamedTuple):
    """The fields of a batch's header; ``base_offset`` of a legacy message is its last offset."""

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    attributes: int
    crc: int


def parse(buffer: bytes | memoryview, at: int, position: int) -> Shallow:
    """Read the header at *at* of *buffer*, which stands at *position* of the file.

    :raises CorruptRecords: the buffer ends within it, or it can be no header.
    """
    try:
        magic = buffer[at + _MAGIC_AT]
        if magic == 2:
            header = HEADER.unpack_from(buffer, at)
            (
                base,
                length,
                epoch,
                _,
                crc,
                attributes,
                delta,
                _,
                newest,
                producer,
                producer_epoch,
                sequence,
                _,
            ) = header
            if length >= HEADER_BYTES - LOG_OVERHEAD and delta >= 0 <= base:
                return Shallow(
                    position, length + LOG_OVERHEAD, 2, base, base + delta, newest,
                    epoch, producer, producer_epoch, sequence, attributes, crc,
                )  # fmt: skip
        elif magic in (0, 1):
            offset, length, crc, _, attributes, timestamp = _LEGACY.unpack_from(buffer, at)
            if length + LOG_OVERHEAD >= _LEGACY_BYTES[magic] and offset >= 0:
                newest = timestamp if magic else NO_TIMESTAMP
                return Shallow(
                    position, length + LOG_OVERHEAD, magic, offset, offset, newest,
                    NO_LEADER_EPOCH, NO_PRODUCER_ID, -1, -1, attributes, crc,
                )  # fmt: skip
    except (IndexError, StructError):
        raise CorruptRecords(f"the header at {position} is cut off") from None
    raise CorruptRecords(f"no batch begins at {position}")


def follows(batch: Shallow, expected: int, sparse_below: int) -> bool:
    """Return True if a batch can follow one that ends before *expected*; no checksum covers its offset.

    :param sparse_below: up to this offset compaction may have left gaps.
    """
    if batch.magic < 2 and batch.attributes & _CODEC:
        return batch.last_offset >= expected
    offset = batch.base_offset
    return offset == expected or (offset > expected and expected < sparse_below)


def walk(files: Reads, file: SharedFile, position: int, end: int) -> Iterator[Shallow]:
    """Yield the batches from *position* to *end* by their headers; the bytes between are not checked.

    :raises CorruptRecords: a header can be none, or its batch reaches beyond *end*.
    """
    chunk, at = b"", 0
    size = 0
    while position < end:
        if at + HEADER_BYTES > len(chunk):
            # Large batches: only the headers are worth reading.
            wanted = HEADER_BYTES if size > _CHUNK_BYTES else _CHUNK_BYTES
            chunk, at = files.pread(file, min(wanted, end - position), position), 0
        batch = parse(chunk, at, position)
        size = batch.size
        if position + size > end:
            raise CorruptRecords(f"the batch at {position} of {file.path} reaches beyond {end}")
        yield batch
        position += size
        at += size


def walk_whole(
    files: Files, file: SharedFile, position: int, end: int
) -> Iterator[tuple[Shallow, memoryview]]:
    """Yield the batches from *position* to *end* with their bytes, as long as their checksums are right.

    The walk just ends at the first batch that is cut off or damaged.
    """
    chunk, at = memoryview(b""), 0
    while position < end:
        if at + HEADER_BYTES > len(chunk):
            chunk, at = _read(files, file, _WHOLE_CHUNK_BYTES, position, end), 0
        try:
            batch = parse(chunk, at, position)
        except CorruptRecords:
            return
        if position + batch.size > end:
            return
        if at + batch.size > len(chunk):
            chunk, at = _read(files, file, max(batch.size, _WHOLE_CHUNK_BYTES), position, end), 0
        data = chunk[at : at + batch.size]
        if len(data) < batch.size or not checksum_right(batch, data):
            return
        yield batch, data
        position += batch.size
        at += batch.size


def _read(files: Files, file: SharedFile, size: int, position: int, end: int) -> memoryview:
    return memoryview(files.pread(file, min(size, end - position), position))


def checksum_right(batch: Shallow, data: memoryview) -> bool:
    """Return True if the batch's CRC is right."""
    if batch.magic == 2:
        return crc32c(data[21:]) == batch.crc
    return zlib.crc32(data[16:]) == batch.crc
