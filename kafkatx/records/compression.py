"""Compression of record batches: the codecs that Kafka numbers, with bounded decompression.

Whatever is decompressed came from a peer or a disk: it is never given more memory than the caller's
limit, and garbage is :class:`~kafkatx.errors.CorruptRecords`, never another exception.

*   gzip: by zlib; several members are read as one, as Java does. They are fed in pieces, so that the time
    grows with the bytes however many members there are.
*   snappy: written in the frames of xerial's ``snappy-java``, as the Java client does: 16 bytes of header,
    then blocks of 32 KiB, each a big-endian i32 size and raw snappy. Read so, or as one raw block, which
    is what librdkafka and others write.
*   lz4: frames with independent blocks of 64 KiB, the only ones that Java reads. Magic 0 has its own
    header checksum: see :func:`kafkatx.records.compressed_frames.with_header_checksum`. On reading, that of
    magic 0 is not looked at (as in Java and librdkafka), because both kinds are about.
*   zstd: only in magic 2 (KIP-110).

``cramjam`` is imported when the first batch needs it.
"""

from __future__ import annotations

import enum
import functools
import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from types import ModuleType

from kafkatx.errors import CorruptRecords, ErrorCode, UnsupportedCompression
from kafkatx.records import compressed_frames

LIMIT_BYTES = 128 << 20
"""The default limit for the size of a decompressed batch."""

XERIAL_HEADER = b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2
"""Magic, version 1, readable since version 1."""

_XERIAL_MAGIC = XERIAL_HEADER[:8]
_XERIAL_BLOCK_BYTES = 32 * 1024
_GZIP_WINDOW = 31  # zlib's 15 bits, and 16 for a gzip header
_GZIP_FIRST_PIECE_BYTES = 1 << 10  # what is left of a piece after a member's end is copied
_GZIP_PIECE_BYTES = 64 << 10
_SNAPPY_MOST_RATIO = 64  # more than any element holds for each of its bytes
_I32 = Struct(">i")


class Codec(enum.IntEnum):
    """The codecs, numbered as in the lowest three attribute bits of batches and messages."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_BY_NAME = {codec.name.lower(): codec for codec in Codec} | {"uncompressed": Codec.NONE}


def codec_named(name: str) -> Codec:
    """Return the codec that a setting names: none (or uncompressed), gzip, snappy, lz4, zstd, in any case.

    :raises UnsupportedCompression: there is none of this name.
    """
    try:
        return _BY_NAME[name.lower()]
    except KeyError:
        known = ", ".join(codec.name.lower() for codec in Codec)
        raise UnsupportedCompression(f"no codec is called {name!r}; there are {known}") from None


def codec_numbered(number: int) -> Codec:
    """Return the codec in the lowest three bits of an attributes field.

    :raises UnsupportedCompression: 5, 6 and 7 are none.
    """
    try:
        return Codec(number & 7)
    except ValueError:
        raise UnsupportedCompression(f"no codec has the number {number & 7}") from None


@functools.cache
def _cramjam() -> ModuleType:
    try:
        import cramjam
    except ImportError:
        raise UnsupportedCompression("snappy, lz4 and zstd need the package cramjam") from None
    module: ModuleType = cramjam
    return module


def compress(codec: Codec, data: bytes | memoryview, level: int | None = None, magic: int = 2) -> bytes:
    """Compress the records section of a batch, or a whole message set.

    :param level: the codec's own scale; None is its usual one; snappy has none.
    :param magic: the format that it goes into; LZ4 is written differently for magic 0.
    :raises UnsupportedCompression: zstd below magic 2, or a package is missing.
    """
    if codec == Codec.NONE:
        return bytes(data)
    if codec == Codec.ZSTD and magic < 2:
        raise UnsupportedCompression(f"zstd cannot be used in message format v{magic}")
    return _COMPRESS[codec](data, level, magic)


def _compress_gzip(data: bytes | memoryview, level: int | None, magic: int) -> bytes:
    stream = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_WINDOW)
    return stream.compress(data) + stream.flush()


def _compress_snappy(data: bytes | memoryview, level: int | None, magic: int) -> bytes:
    compress_raw = _cramjam().snappy.compress_raw
    view = memoryview(data)
    parts = [XERIAL_HEADER]
    for at in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(compress_raw(view[at : at + _XERIAL_BLOCK_BYTES]))
        parts.append(_I32.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _compress_lz4(data: bytes | memoryview, level: int | None, magic: int) -> bytes:
    level = 1 if level is None else level  # the library's own default is a slow one
    stream = _cramjam().lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    stream.compress(bytes(data))
    frame = bytes(stream.finish())
    return compressed_frames.with_header_checksum(frame, whole_header=True) if magic == 0 else frame


def _compress_zstd(data: bytes | memoryview, level: int | None, magic: int) -> bytes:
    return bytes(_cramjam().zstd.compress(data, level=level))


_COMPRESS: dict[Codec, Callable[[bytes | memoryview, int | None, int], bytes]] = {
    Codec.GZIP: _compress_gzip,
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: _compress_zstd,
}


def decompress(
    codec: Codec, data: bytes | memoryview, limit_bytes: int = LIMIT_BYTES, magic: int = 2
) -> bytes:
    """Decompress what :func:`compress` or another client compressed.

    :param limit_bytes: neither more than this is returned nor allocated for it.
    :param magic: the format that it was found in.
    :raises InflatedTooLarge: it holds more than *limit_bytes*.
    :raises CorruptRecords: it is not in the codec's format.
    :raises UnsupportedCompression: zstd below magic 2, or a package is missing.
    """
    if codec == Codec.NONE:
        if len(data) > limit_bytes:
            raise _too_large(limit_bytes)
        return bytes(data)
    if codec == Codec.ZSTD and magic < 2:
        raise UnsupportedCompression(f"zstd cannot be used in message format v{magic}")
    return _DECOMPRESS[codec](data, limit_bytes, magic)


class InflatedTooLarge(CorruptRecords):
    """The decompressed records are larger than the caller allows; they may be valid."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = ErrorCode.MESSAGE_TOO_LARGE


def _too_large(limit_bytes: int) -> InflatedTooLarge:
    return InflatedTooLarge(f"compressed records hold more than the {limit_bytes} bytes that are allowed")


def _decompress_gzip(data: bytes | memoryview, limit_bytes: int, magic: int) -> bytes:
    view = memoryview(data)
    parts: list[bytes] = []
    at, room = 0, limit_bytes
    while True:
        stream = zlib.decompressobj(_GZIP_WINDOW)
        piece_bytes = _GZIP_FIRST_PIECE_BYTES
        while not stream.eof:
            piece = view[at : at + piece_bytes]
            if not piece:
                raise CorruptRecords("gzip: the data ends too early")
            try:
                part = stream.decompress(piece, room + 1)
            except zlib.error as error:
                raise CorruptRecords(f"gzip: {error}") from None
            room -= len(part)
            if room < 0:
                raise _too_large(limit_bytes)
            parts.append(part)
            at += len(piece) - len(stream.unused_data)
            piece_bytes = _GZIP_PIECE_BYTES
        if at == len(view):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_snappy(data: bytes | memoryview, limit_bytes: int, magic: int) -> bytes:
    if bytes(data[:8]) != _XERIAL_MAGIC:
        return _snappy_block(data, limit_bytes)
    parts: list[bytes] = []
    room = limit_bytes
    for block in _xerial_blocks(memoryview(data)):
        part = _snappy_block(block, room)
        room -= len(part)
        parts.append(part)
    return b"".join(parts)


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    at, end = len(XERIAL_HEADER), len(data)
    if end < at:
        raise CorruptRecords("snappy: the header is cut off")
    while at < end:
        if end - at < 4:
            raise CorruptRecords("snappy: a block's size is cut off")
        size: int = _I32.unpack_from(data, at)[0]
        at += 4
        if not 0 < size <= end - at:
            raise CorruptRecords(f"snappy: a block of {size} bytes where {end - at} are left")
        yield data[at : at + size]
        at += size


def _snappy_block(data: bytes | memoryview, limit_bytes: int) -> bytes:
    snappy = _cramjam().snappy
    size = _guarded("snappy", snappy.decompress_raw_len, data)
    if size > limit_bytes:
        raise _too_large(limit_bytes)
    if size > _SNAPPY_MOST_RATIO * len(data):
        raise CorruptRecords(f"snappy: {len(data)} bytes cannot hold {size}")
    return _into("snappy", snappy.decompress_raw_into, data, size)


def _decompress_lz4(data: bytes | memoryview, limit_bytes: int, magic: int) -> bytes:
    if magic == 0:
        data = compressed_frames.with_header_checksum(bytes(data), whole_header=False)
    return _frame("lz4", data, compressed_frames.lz4_bound(data), limit_bytes)


def _decompress_zstd(data: bytes | memoryview, limit_bytes: int, magic: int) -> bytes:
    return _frame("zstd", data, compressed_frames.zstd_bound(data), limit_bytes)


def _frame(name: str, data: bytes | memoryview, bound: int, limit_bytes: int) -> bytes:
    try:
        return _into(name, getattr(_cramjam(), name).decompress_into, data, min(bound, limit_bytes))
    except CorruptRecords:
        if bound > limit_bytes:
            raise _too_large(limit_bytes) from None
        raise


def _into(name: str, decompress_into: Callable[..., int], data: bytes | memoryview, size: int) -> bytes:
    """Decompress into *size* bytes and no more: a larger content is an error of the library."""
    buffer = bytearray(size)
    written = _guarded(name, decompress_into, data, buffer)
    return bytes(buffer) if written == size else bytes(memoryview(buffer)[:written])


def _guarded(name: str, function: Callable[..., int], *arguments: object) -> int:
    try:
        return function(*arguments)
    except (_cramjam().DecompressionError, OSError) as error:
        raise CorruptRecords(f"{name}: {error}") from None


_DECOMPRESS: dict[Codec, Callable[[bytes | memoryview, int, int], bytes]] = {
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}
