"""Tests of kafkatx.records.compression."""

from __future__ import annotations

import contextlib
import gzip
import sys
import tracemalloc
import zlib
from unittest import mock

import cramjam
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records import compression
from kafkatx.records.compression import (
    XERIAL_HEADER,
    Codec,
    InflatedTooLarge,
    codec_named,
    codec_numbered,
    compress,
    decompress,
)
from tests.records.strategies import codecs, quick

PACKED = [codec for codec in Codec if codec != Codec.NONE]
MIXED = b"".join(b"%d %x;" % (number * number, number) for number in range(3000))
TEXT = b"127.0.0.1 - - GET /index.html 200\n" * 3000


class NameTests(SynchronousTestCase):
    """Codecs by name and by number."""

    def test_names(self) -> None:
        """Settings name codecs in any case, and 'uncompressed' is none."""
        self.assertEqual(codec_named("LZ4"), Codec.LZ4)
        self.assertEqual(codec_named("uncompressed"), Codec.NONE)
        self.assertRaises(UnsupportedCompression, codec_named, "brotli")

    def test_numbers(self) -> None:
        """Only the lowest three attribute bits count; 5, 6 and 7 are no codecs."""
        self.assertEqual(codec_numbered(0x28 | 4), Codec.ZSTD)
        for number in (5, 6, 7):
            self.assertRaises(UnsupportedCompression, codec_numbered, number)


class RoundTripTests(SynchronousTestCase):
    """Compressing and back."""

    @quick
    @given(codecs, st.binary(max_size=300), st.integers(0, 400), st.booleans())
    def test_round_trip(self, codec: Codec, part: bytes, repeats: int, view: bool) -> None:
        """Any data comes back, as bytes, and fits into a limit of exactly its size."""
        data = part * repeats
        packed = compress(codec, memoryview(data) if view else data)
        back = decompress(codec, memoryview(packed) if view else packed, len(data))
        self.assertEqual(back, data)
        self.assertIsInstance(back, bytes)

    def test_levels(self) -> None:
        """A level is passed on where the codec has levels."""
        for codec, low, high in ((Codec.GZIP, 1, 9), (Codec.ZSTD, 1, 19), (Codec.LZ4, 1, 12)):
            sizes = {len(compress(codec, MIXED, level)) for level in (low, high)}
            self.assertEqual(len(sizes), 2, codec)

    def test_zstd_is_new(self) -> None:
        """Magic 0 and 1 know no zstd."""
        self.assertRaises(UnsupportedCompression, compress, Codec.ZSTD, b"x", magic=1)
        self.assertRaises(UnsupportedCompression, decompress, Codec.ZSTD, b"x", 10, magic=1)

    def test_no_package(self) -> None:
        """Without cramjam the error names it, and gzip still works."""
        self.addCleanup(compression._cramjam.cache_clear)
        with mock.patch.dict(sys.modules, {"cramjam": None}):
            compression._cramjam.cache_clear()
            error = self.assertRaises(UnsupportedCompression, compress, Codec.LZ4, b"x")
            self.assertIn("cramjam", str(error))
            self.assertEqual(decompress(Codec.GZIP, compress(Codec.GZIP, TEXT)), TEXT)


class ForeignTests(SynchronousTestCase):
    """Frames of other clients."""

    def test_gzip_members(self) -> None:
        """Several gzip members are read as one."""
        self.assertEqual(decompress(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")), b"one two")

    def test_raw_snappy(self) -> None:
        """Snappy without xerial's frames is read."""
        self.assertEqual(decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))), TEXT)

    def test_xerial(self) -> None:
        """Snappy is written as snappy-java does: header, then blocks of 32 KiB with their sizes."""
        packed = compress(Codec.SNAPPY, b"a" * 40_000)
        first = bytes(cramjam.snappy.compress_raw(b"a" * 32768))
        second = bytes(cramjam.snappy.compress_raw(b"a" * (40_000 - 32768)))
        header = b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
        sizes = [len(block).to_bytes(4, "big") for block in (first, second)]
        self.assertEqual(packed, header + sizes[0] + first + sizes[1] + second)

    def test_xerial_versions(self) -> None:
        """The version fields of xerial's header are not looked at: some write them little-endian."""
        packed = compress(Codec.SNAPPY, b"data")
        self.assertEqual(decompress(Codec.SNAPPY, packed[:8] + b"\1\0\0\0\1\0\0\0" + packed[16:]), b"data")

    def test_lz4_frames(self) -> None:
        """LZ4 is written with independent blocks of 64 KiB and no content size; linked ones are read."""
        packed = compress(Codec.LZ4, TEXT)
        self.assertEqual(packed[4] & 0b11101111, 0b01100000)
        self.assertEqual(packed[5], 0x40)
        self.assertEqual(decompress(Codec.LZ4, bytes(cramjam.lz4.compress(TEXT))), TEXT)

    def test_lz4_of_magic_0(self) -> None:
        """Magic 0's checksum is written for magic 0, read there like the right one, and refused elsewhere."""
        old, new = compress(Codec.LZ4, TEXT, magic=0), compress(Codec.LZ4, TEXT, magic=1)
        self.assertEqual([at for at in range(len(old)) if old[at] != new[at]], [6])
        self.assertEqual(decompress(Codec.LZ4, memoryview(old), magic=0), TEXT)
        self.assertEqual(decompress(Codec.LZ4, new, magic=0), TEXT)
        self.assertRaises(CorruptRecords, decompress, Codec.LZ4, old, magic=1)


class BadInputTests(SynchronousTestCase):
    """Bombs and garbage."""

    def test_bombs(self) -> None:
        """64 MiB of zeros in a few KiB are refused at a limit of 1 MiB without being allocated."""
        for codec in PACKED:
            bomb = compress(codec, bytes(64 << 20))
            tracemalloc.start()
            self.assertRaises(CorruptRecords, decompress, codec, bomb, 1 << 20)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            # gzip's and snappy's pieces are held beside the whole
            self.assertLess(peak, 4 << 20, codec)

    def test_raw_snappy_bomb(self) -> None:
        """A raw snappy block that only claims to be 4 GiB is refused at once."""
        self.assertRaises(CorruptRecords, decompress, Codec.SNAPPY, b"\xff\xff\xff\xff\x0f\0a", 1 << 20)

    def test_snappy_claim(self) -> None:
        """A block that claims more than its bytes can hold is refused before anything is allocated."""
        tracemalloc.start()
        self.assertRaises(CorruptRecords, decompress, Codec.SNAPPY, b"\x80\x80\x80\x10\0a", 128 << 20)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.assertLess(peak, 1 << 20)

    def test_too_large_or_corrupt(self) -> None:
        """Content that is larger than allowed is told apart from damaged content."""
        for codec in PACKED:
            packed = compress(codec, TEXT)
            self.assertRaises(InflatedTooLarge, decompress, codec, packed, len(TEXT) - 1)
            error = self.assertRaises(CorruptRecords, decompress, codec, packed[:-9], len(TEXT))
            self.assertNotIsInstance(error, InflatedTooLarge)

    def test_gzip_members(self) -> None:
        """However many members there are, little more than their bytes is ever given to zlib or copied."""
        data = (gzip.compress(b"") * 20 + gzip.compress(TEXT)) * 40
        moved = 0
        make = zlib.decompressobj

        class Counted:
            def __init__(self, window: int) -> None:
                self._stream = make(window)

            def decompress(self, piece: memoryview, most: int) -> bytes:
                nonlocal moved
                given: bytes = self._stream.decompress(piece, most)
                moved += len(piece) + len(self._stream.unused_data)
                return given

            @property
            def eof(self) -> bool:
                return bool(self._stream.eof)

            @property
            def unused_data(self) -> bytes:
                return bytes(self._stream.unused_data)

        with mock.patch.object(zlib, "decompressobj", Counted):
            self.assertEqual(decompress(Codec.GZIP, data), TEXT * 40)
        self.assertLess(moved, 3 * 1024 * 21 * 40)

    def test_xerial_block_sizes(self) -> None:
        """Blocks of no bytes, of fewer, or of more than there are, are refused."""
        for size in (-(2**31), -4, -1, 0, 2, 2**31 - 1):
            data = XERIAL_HEADER + size.to_bytes(4, "big", signed=True) + b"\0"
            self.assertRaises(CorruptRecords, decompress, Codec.SNAPPY, data)

    def test_limit_uncompressed(self) -> None:
        """The limit holds without a codec, too."""
        self.assertRaises(CorruptRecords, decompress, Codec.NONE, b"abc", 2)
        self.assertEqual(decompress(Codec.NONE, memoryview(b"abc"), 3), b"abc")

    def test_one_byte_too_many(self) -> None:
        """A limit of one byte less than the content's size is kept."""
        for codec in PACKED:
            self.assertRaises(CorruptRecords, decompress, codec, compress(codec, TEXT), len(TEXT) - 1)

    def test_cut_off(self) -> None:
        """No codec takes data that is cut off anywhere for good, or raises another error."""
        text = TEXT[:2000] + bytes(range(256))
        for codec in PACKED:
            packed = compress(codec, text)
            for size in range(len(packed)):
                try:
                    back = decompress(codec, packed[:size])
                except CorruptRecords:
                    continue
                # only xerial's frames can end between blocks
                self.assertEqual((codec, back, size), (Codec.SNAPPY, b"", 16))

    @quick
    @given(codecs, st.binary(max_size=100), st.binary(max_size=40), st.integers(0, 2))
    def test_garbage(self, codec: Codec, data: bytes, garbage: bytes, where: int) -> None:
        """Garbage alone, in front of or in the middle of data is CorruptRecords or data, nothing else."""
        packed = compress(codec, data)
        half = len(packed) // 2
        mixed = (garbage, garbage + packed, packed[:half] + garbage + packed[half:])[where]
        for magic in (0, 1, 2):
            with contextlib.suppress(CorruptRecords, UnsupportedCompression):
                self.assertIsInstance(decompress(codec, mixed, 1 << 20, magic), bytes)
