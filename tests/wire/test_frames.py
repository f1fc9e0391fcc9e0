"""Tests of cutting a stream into frames."""

from __future__ import annotations

import itertools
import struct
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.types import Records
from kafkatx.wire.frames import FrameDecoder, frame
from tests.wire.strategies import quick


def framed(*bodies: bytes) -> bytes:
    """A stream of these frames."""
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


class FrameDecoderTests(SynchronousTestCase):
    """Whole frames out of any pieces."""

    @quick(200)
    @given(st.lists(st.binary(max_size=60), max_size=6), st.lists(st.integers(0, 300), max_size=8))
    def test_any_split(self, bodies: list[bytes], cuts: list[int]) -> None:
        """However the stream is cut into pieces, the frames are the same."""
        stream = framed(*bodies)
        edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
        frames, found = FrameDecoder(100), []
        for start, end in itertools.pairwise(edges):
            found += [bytes(body) for body in frames.feed(stream[start:end])]
        self.assertEqual(found, bodies)
        self.assertEqual(frames.buffered_bytes, 0)

    def test_byte_by_byte(self) -> None:
        """Even single bytes make frames, and what is held is told."""
        frames = FrameDecoder(10)
        stream = framed(b"abc")
        for at in range(len(stream) - 1):
            self.assertEqual(list(frames.feed(stream[at : at + 1])), [])
            self.assertEqual(frames.buffered_bytes, at + 1)
        self.assertEqual([bytes(body) for body in frames.feed(stream[-1:])], [b"abc"])
        self.assertEqual(frames.buffered_bytes, 0)

    def test_no_copy(self) -> None:
        """A frame inside one read is a slice of it."""
        stream = framed(b"one", b"two") + b"\0\0"
        frames = FrameDecoder(10)
        for body in frames.feed(stream):
            self.assertIs(body.obj, stream)
        self.assertEqual(frames.buffered_bytes, 2)

    def test_joined_once(self) -> None:
        """A frame in many large pieces is not joined before it is complete: memory stays near its size."""
        size = 4 << 20
        stream = framed(bytes(size))
        pieces = [stream[at : at + 65536] for at in range(0, len(stream), 65536)]
        frames = FrameDecoder(size)
        tracemalloc.start()
        try:
            bodies = [body for piece in pieces for body in frames.feed(piece)]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        self.assertEqual([len(body) for body in bodies], [size])
        self.assertLess(peak, size * 1.1)

    def test_tiny_pieces_cost_little(self) -> None:
        """A peer that sends two bytes at a time makes us hold little more than what it sent."""
        frames = FrameDecoder(1 << 20)
        frames.feed(struct.pack(">i", 1 << 20))
        tracemalloc.start()
        try:
            for number in range(50_000):
                frames.feed(struct.pack(">H", number & 0xFFFF))
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        self.assertEqual(frames.buffered_bytes, 100_004)
        self.assertLess(held, 200_000)

    def test_limit(self) -> None:
        """A frame of exactly the limit is taken, one byte more is a violation that names both numbers."""
        self.assertEqual(len(list(FrameDecoder(5).feed(framed(bytes(5))))), 1)
        error = self.assertRaises(ProtocolViolation, FrameDecoder(5).feed, framed(bytes(6)))
        self.assertIn("6 bytes is above the limit of 5", str(error))

    def test_refused_before_the_body(self) -> None:
        """Four bytes are enough to refuse a size, and it stays refused."""
        frames = FrameDecoder(100)
        self.assertRaises(ProtocolViolation, frames.feed, b"\x7f\xff\xff\xff")
        self.assertRaises(ProtocolViolation, frames.feed, framed(b"good"))
        self.assertRaises(ProtocolViolation, FrameDecoder(100).feed, b"\xff\xff\xff\xff")

    def test_frames_before_a_bad_one(self) -> None:
        """Complete frames before the bad size come first; then the violation is raised."""
        found, frames = [], FrameDecoder(100)
        with self.assertRaises(ProtocolViolation):
            for body in frames.feed(framed(b"one", b"two") + b"\x7f\xff\xff\xff"):
                found.append(bytes(body))
        self.assertEqual(found, [b"one", b"two"])

    def test_other_protocols(self) -> None:
        """TLS and HTTP are called by their names."""
        for start, name in (
            (b"\x16\x03\x01\x02\0", "TLS"),
            (b"GET / HTTP/1.1\r\n", "HTTP (GET...)"),
            (b"POST /", "HTTP (POST...)"),
            (b"PUT /x", "HTTP (PUT...)"),
        ):
            error = self.assertRaises(ProtocolViolation, FrameDecoder(1 << 20).feed, start)
            self.assertIn(name, str(error))
        error = self.assertRaises(ProtocolViolation, FrameDecoder(1 << 20).feed, b"\x7f\xff\xff\xff")
        self.assertNotIn("speaks", str(error))


class FrameTests(SynchronousTestCase):
    """The other direction."""

    def test_size_in_front(self) -> None:
        """The size of all chunks comes first, and the chunks are passed on as they are."""
        chunks: list[Records] = [b"abc", memoryview(b"de")]
        framed_chunks = frame(chunks)
        self.assertEqual(framed_chunks[0], b"\0\0\0\x05")
        self.assertIs(framed_chunks[2], chunks[1])
