"""Tests of kafkatx.records.compressed_frames."""

from __future__ import annotations

import cramjam
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records import compressed_frames
from kafkatx.records.compression import Codec, compress, decompress
from tests.records.strategies import quick


class BoundTests(SynchronousTestCase):
    """The bounds of frames' contents."""

    @quick
    @given(st.binary(max_size=500), st.integers(1, 2000), st.integers(1, 2))
    def test_never_below(self, part: bytes, repeats: int, times: int) -> None:
        """No content is larger than its bound, in one frame or two."""
        data = part * repeats
        for codec, bound in (
            (Codec.LZ4, compressed_frames.lz4_bound),
            (Codec.ZSTD, compressed_frames.zstd_bound),
        ):
            self.assertGreaterEqual(bound(compress(codec, data) * times), len(data) * times)

    def test_tight(self) -> None:
        """The bound is the content's size rounded up to whole blocks; LZ4 frames say how large these are."""
        data = bytes(1_000_000)
        frame = compress(Codec.LZ4, data)
        block_bytes = 1 << (8 + 2 * (frame[5] >> 4 & 7))
        blocks = -(-len(data) // block_bytes)
        self.assertLessEqual(compressed_frames.lz4_bound(frame), max(2, blocks) * block_bytes)
        self.assertLessEqual(compressed_frames.zstd_bound(compress(Codec.ZSTD, data)), 8 * 131072)

    def test_library_frames(self) -> None:
        """Frames with linked blocks and a checksum, with streamed blocks, and skippable ones are walked."""
        data = bytes(range(256)) * 1000
        self.assertGreaterEqual(compressed_frames.lz4_bound(bytes(cramjam.lz4.compress(data))), len(data))
        stream = cramjam.zstd.Compressor()
        stream.compress(data)
        flushed = bytes(stream.flush())
        stream.compress(data)
        skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
        streamed = skippable + flushed + bytes(stream.finish())
        self.assertGreaterEqual(compressed_frames.zstd_bound(streamed), 2 * len(data))
        self.assertEqual(decompress(Codec.ZSTD, streamed), data * 2)

    def test_zstd_rle(self) -> None:
        """A block of one repeated byte takes one byte; a checksum after the last block takes four."""
        block = (200 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"a"
        frame = compressed_frames.ZSTD_MAGIC + b"\x20\xc8" + block
        self.assertEqual(compressed_frames.zstd_bound(frame), 200)
        self.assertEqual(decompress(Codec.ZSTD, frame), b"a" * 200)
        self.assertEqual(
            compressed_frames.zstd_bound(compressed_frames.ZSTD_MAGIC + b"\x24\xc8" + block + b"csum"), 200
        )

    def test_cut_off(self) -> None:
        """A frame that is not whole has the bound 0, and no length makes it raise."""
        data = bytes(range(256)) * 1000
        for codec, bound in (
            (Codec.LZ4, compressed_frames.lz4_bound),
            (Codec.ZSTD, compressed_frames.zstd_bound),
        ):
            whole = compress(codec, data)
            for size in range(1, len(whole)):
                self.assertEqual(bound(whole[:size]), 0)
            self.assertEqual(bound(b""), 0)


class HeaderChecksumTests(SynchronousTestCase):
    """LZ4's header checksum, right and wrong."""

    def test_xxh32(self) -> None:
        """xxHash-32 of nothing, of less and of more than 16 bytes, as LZ4 frames have it at their end."""
        self.assertEqual(compressed_frames.xxh32(b""), 0x02CC5D05)
        for size in (1, 4, 7, 15, 16, 17, 31, 32, 100):
            data = bytes(range(size))
            at_end = bytes(cramjam.lz4.compress(data))[-4:]
            self.assertEqual(compressed_frames.xxh32(data), int.from_bytes(at_end, "little"), size)

    def test_right(self) -> None:
        """The library's own frames have the right checksum: they are returned as they are."""
        frame = compress(Codec.LZ4, b"data")
        self.assertIs(compressed_frames.with_header_checksum(frame, whole_header=False), frame)

    def test_wrong(self) -> None:
        """The checksum of magic 0 is over the magic bytes too, and can be mended."""
        frame = compress(Codec.LZ4, b"data")
        wrong = compressed_frames.with_header_checksum(frame, whole_header=True)
        self.assertEqual(wrong[6], compressed_frames.xxh32(frame[:6]) >> 8 & 0xFF)
        self.assertEqual(wrong[:6] + wrong[7:], frame[:6] + frame[7:])
        self.assertNotEqual(wrong, frame)
        self.assertEqual(compressed_frames.with_header_checksum(wrong, whole_header=False), frame)

    def test_content_size(self) -> None:
        """A header with the content's size has its checksum 8 bytes later."""
        frame = b"\x04\x22\x4d\x18\x68\x40" + (4).to_bytes(8, "little") + b"\0rest"
        mended = compressed_frames.with_header_checksum(frame, whole_header=False)
        self.assertEqual(mended[14], compressed_frames.xxh32(frame[4:14]) >> 8 & 0xFF)

    def test_no_frame(self) -> None:
        """Bytes that are no frame, or end within the header, are left as they are."""
        for data in (b"", b"\x04\x22\x4d\x18", b"garbage bytes", b"\x04\x22\x4d\x18\x68\x40\0\0\0\0"):
            self.assertIs(compressed_frames.with_header_checksum(data, whole_header=True), data)
