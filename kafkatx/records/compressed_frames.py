"""Facts about LZ4 and Zstandard frames that need no decompression.

A frame does not have to say how large its content is, so a few bytes could ask for gigabytes. The
block headers bound it, though, and are cheap to walk: the bound is what decompression may allocate.
Both functions give 0 for what is no whole frame; the decompressor then tells what is wrong with it.

LZ4 frame (lz4_Frame_format.md)::

    magic 04 22 4D 18 | FLG u8 | BD u8 | content size u64 (FLG bit 3) | dictionary id u32 (FLG bit 0) | HC u8
    blocks: size u32 (high bit: stored as it is; 0 ends the frame) | data | checksum u32 (FLG bit 4)
    checksum of the content u32 (FLG bit 2)

Zstandard frame (RFC 8878)::

    magic 28 B5 2F FD | descriptor u8 | window u8 (unless single segment) | dictionary id 0, 1, 2 or 4 bytes
    | content size 0, 1, 2, 4 or 8 bytes
    blocks: u24 (bit 0: last; bits 1-2: raw, RLE, compressed; bits 3-23: size) | data
    checksum u32 (descriptor bit 2)

All numbers of both are little-endian.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

LZ4_MAGIC = b"\x04\x22\x4d\x18"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

_U32 = Struct("<I")
_ZSTD_BLOCK_BYTES = 128 * 1024
_ZSTD_DICTIONARY_BYTES = (0, 1, 2, 4)
_ZSTD_CONTENT_SIZE_BYTES = (0, 2, 4, 8)
_RLE = 1
_COMPRESSED = 2


def lz4_bound(data: bytes | memoryview) -> int:
    """Return an upper bound of the content size of consecutive LZ4 frames; 0 if they are not whole."""
    total = at = 0
    try:
        while at < len(data):
            size, at = _lz4_frame(data, at)
            total += size
    except (IndexError, StructError):
        return 0
    return total if at == len(data) else 0


def _lz4_frame(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Walk one frame's blocks; return (bound of its content, position after it)."""
    flags, block_size_code = data[at + 4], data[at + 5] >> 4 & 7
    block_bytes = 1 << 8 + 2 * block_size_code  # codes 4 to 7: 64 KiB, 256 KiB, 1 MiB, 4 MiB
    block_overhead = 8 if flags & 0x10 else 4
    at += 7 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
    total = 0
    while size := _U32.unpack_from(data, at)[0]:
        at += (size & 0x7FFFFFFF) + block_overhead
        total += block_bytes
    return total, at + (8 if flags & 4 else 4)


def zstd_bound(data: bytes | memoryview) -> int:
    """Return an upper bound of the content size of Zstandard frames; 0 if they are not whole."""
    total = at = 0
    try:
        while at < len(data):
            if _U32.unpack_from(data, at)[0] & 0xFFFFFFF0 == 0x184D2A50:  # a skippable frame
                at += 8 + _U32.unpack_from(data, at + 4)[0]
                continue
            size, at = _zstd_frame(data, at)
            total += size
    except (IndexError, StructError):
        return 0
    return total if at == len(data) else 0


def _zstd_frame(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Walk one frame's blocks; return (bound of its content, position after it)."""
    descriptor = data[at + 4]
    single_segment = descriptor & 0x20
    at += 5 if single_segment else 6
    at += _ZSTD_DICTIONARY_BYTES[descriptor & 3]
    size_bytes = _ZSTD_CONTENT_SIZE_BYTES[descriptor >> 6] or (1 if single_segment else 0)
    at += size_bytes
    total, last = 0, 0
    while not last:
        head = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        total += _ZSTD_BLOCK_BYTES if kind == _COMPRESSED else size
        at += 3 + (1 if kind == _RLE else size)
    return total, at + (4 if descriptor & 4 else 0)


def with_header_checksum(frame: bytes, whole_header: bool) -> bytes:
    """Return an LZ4 frame with the header checksum that Kafka expects of a magic.

    Kafka computed it wrongly until magic 1 (KAFKA-3160): over the header with its 4 magic bytes
    instead of without them. Clients and brokers of that time refuse the right one.

    :param whole_header: True for the wrong checksum of magic 0, False for the right one.
    :return: *frame* itself where it is right already, or is no LZ4 frame.
    """
    if len(frame) < 7 or frame[:4] != LZ4_MAGIC:
        return frame
    flags = frame[4]
    at = 6 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
    checksum = xxh32(frame[0 if whole_header else 4 : at]) >> 8 & 0xFF
    if at >= len(frame) or frame[at] == checksum:
        return frame
    return b"".join((frame[:at], bytes((checksum,)), frame[at + 1 :]))


_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)
_MASK = 0xFFFFFFFF


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK


def xxh32(data: bytes) -> int:
    """xxHash-32 with seed 0 (xxhash_spec.md); headers are short, so that it may be slow."""
    p1, p2, p3, p4, p5 = _PRIMES
    at, size = 0, len(data)
    if size >= 16:
        lanes = [p1 + p2 & _MASK, p2, 0, -p1 & _MASK]
        while at <= size - 16:
            for lane in range(4):
                word = _U32.unpack_from(data, at + 4 * lane)[0]
                lanes[lane] = _rotate(lanes[lane] + word * p2 & _MASK, 13) * p1 & _MASK
            at += 16
        value = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        value = p5
    value = value + size & _MASK
    while at <= size - 4:
        value = _rotate(value + _U32.unpack_from(data, at)[0] * p3 & _MASK, 17) * p4 & _MASK
        at += 4
    for byte in data[at:]:
        value = _rotate(value + byte * p5 & _MASK, 11) * p1 & _MASK
    value = (value ^ value >> 15) * p2 & _MASK
    value = (value ^ value >> 13) * p3 & _MASK
    return value ^ value >> 16
