"""Tests of kafkatx.records.legacy.messages."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords, UnsupportedCompression
from kafkatx.records.compression import Codec, compress
from kafkatx.records.legacy.message_sets import build
from kafkatx.records.legacy.messages import LegacyMessage, check, encode_message, iter_messages, unwrap
from tests.records.strategies import SAMPLE, nullable, quick

V0 = bytes.fromhex("000000000000000500000013fdc12e2f0000000000016b0000000476616c75")
"""Offset 5, key 'k', value 'valu'."""
V1 = bytes.fromhex("00000000000000060000001abc4a3ad401000000018bcfe56800ffffffff0000000476616c75")
"""Offset 6, 1700000000000, no key, value 'valu'."""


class LayoutTests(SynchronousTestCase):
    """Single messages."""

    def test_golden(self) -> None:
        """A message of each magic, written out by hand, is read and encoded."""
        first, second = iter_messages(memoryview(V0 + V1))
        self.assertEqual(first, LegacyMessage(5, 0, 0, -1, b"k", b"valu", 0xFDC12E2F, 0, 31))
        self.assertEqual(second, LegacyMessage(6, 1, 0, 1_700_000_000_000, None, b"valu", 0xBC4A3AD4, 31, 38))
        self.assertEqual(encode_message(5, 0, 0, -1, b"k", b"valu"), V0)
        self.assertEqual(encode_message(6, 1, 0, 1_700_000_000_000, None, b"valu"), V1)
        for message in (first, second):
            check(V0 + V1, message)

    @quick
    @given(st.integers(0, 2**62), st.integers(0, 1), st.integers(0, 2**42), nullable, nullable)
    def test_round_trip(
        self, offset: int, magic: int, timestamp: int, key: bytes | None, value: bytes | None
    ) -> None:
        """An encoded message is read back."""
        data = encode_message(offset, magic, 0, timestamp, key, value)
        (message,) = iter_messages(data, whole=True)
        expected = (offset, magic, 0, timestamp if magic else -1, key, value)
        self.assertEqual(message[:6], expected)
        check(data, message)

    def test_properties(self) -> None:
        """Codec and kind of time are read from the attributes; magic 0 knows no time."""
        (message,) = iter_messages(V1)
        self.assertEqual((message.codec, message.log_append_time), (Codec.NONE, False))
        stamped = message._replace(attributes=0x08 | 2)
        self.assertEqual((stamped.codec, stamped.log_append_time), (Codec.SNAPPY, True))
        self.assertFalse(stamped._replace(magic=0).log_append_time)

    def test_every_bit(self) -> None:
        """A flipped bit in the CRC, or anywhere that it covers, is found."""
        for data in (V0, V1):
            for at in range(12, len(data)):
                for bit in range(8):
                    flipped = bytearray(data)
                    flipped[at] ^= 1 << bit
                    with self.assertRaises(CorruptRecords):
                        (message,) = iter_messages(bytes(flipped), whole=True)
                        check(bytes(flipped), message)


class CutOffTests(SynchronousTestCase):
    """Sets that end early."""

    def test_tolerated(self) -> None:
        """A set cut off at any byte gives its whole messages, as a fetch reply's end demands."""
        data = V0 + V1 + V0
        ends = [31, 69, 100]
        for size in range(len(data) + 1):
            found = list(iter_messages(memoryview(data)[:size]))
            self.assertEqual(len(found), sum(end <= size for end in ends))

    def test_whole(self) -> None:
        """A set that must be whole is corrupt at every other length."""
        data = V0 + V1
        for size in set(range(len(data))) - {0, 31}:
            self.assertRaises(CorruptRecords, list, iter_messages(data[:size], whole=True))


class CorruptTests(SynchronousTestCase):
    """Bytes that are no messages."""

    def test_size(self) -> None:
        """A size below a message's smallest is corrupt, negative or not."""
        for size in (-(2**31), -12, -1, 0, 13):
            data = V0[:8] + size.to_bytes(4, "big", signed=True) + V0[12:]
            for end in (12 + max(size, 0), len(data)):
                self.assertRaises(CorruptRecords, list, iter_messages(data[:end]))

    def test_magic(self) -> None:
        """Magic 2 and others have no place in a message set; nor has a magic 1 of magic 0's size."""
        for magic in (2, 3, 255):
            self.assertRaises(CorruptRecords, list, iter_messages(V0[:16] + bytes((magic,)) + V0[17:]))
        small = encode_message(0, 0, 0, -1, None, None)
        self.assertRaises(CorruptRecords, list, iter_messages(small[:16] + b"\1" + small[17:]))

    def test_lengths(self) -> None:
        """A key's or value's length that does not fit is corrupt."""
        for at in (18, 23):
            for length in (5, 100, 2**31 - 1, -1):
                data = V0[:at] + length.to_bytes(4, "big", signed=True) + V0[at + 4 :]
                self.assertRaises(CorruptRecords, list, iter_messages(data))

    @quick
    @given(st.data())
    def test_garbled(self, data: st.DataObject) -> None:
        """Any bytes overwritten: messages or CorruptRecords, never another error."""
        garbled = bytearray(V0 + V1 + build(SAMPLE, 1, Codec.LZ4))
        at = data.draw(st.integers(0, len(garbled) - 1))
        garbage = data.draw(st.binary(min_size=1, max_size=8))
        garbled[at : at + len(garbage)] = garbage
        with contextlib.suppress(CorruptRecords, UnsupportedCompression):
            for message in iter_messages(bytes(garbled)):
                if message.codec:
                    unwrap(message)


class UnwrapTests(SynchronousTestCase):
    """Opening compressed messages."""

    def wrapper(self, inner: bytes, magic: int = 1, codec: Codec = Codec.GZIP) -> LegacyMessage:
        """Put a message set into a compressed message."""
        data = encode_message(0, magic, codec, 5, None, compress(codec, inner, magic=magic))
        (message,) = iter_messages(data)
        return message

    def test_open(self) -> None:
        """The inner set comes out, with its offsets as they stand."""
        inner = encode_message(0, 1, 0, 4, None, b"a") + encode_message(1, 1, 0, 5, b"k", b"b")
        opened = unwrap(self.wrapper(inner))
        self.assertEqual(opened.data, inner)
        self.assertEqual([(one.offset, one.value) for one in opened], [(0, b"a"), (1, b"b")])

    def test_refused(self) -> None:
        """No messages, one cut off, of another magic, compressed again, or with a wrong CRC: corrupt."""
        inner = encode_message(0, 1, 0, 4, None, b"a")
        nested = encode_message(0, 1, Codec.GZIP, 4, None, compress(Codec.GZIP, inner))
        old = encode_message(0, 0, 0, 4, None, b"a")
        for bad in (b"", inner[:-1], inner + inner[:20], old, inner + old, nested, inner[:-1] + b"b"):
            self.assertRaises(CorruptRecords, unwrap, self.wrapper(bad))
        self.assertRaises(CorruptRecords, unwrap, self.wrapper(inner)._replace(value=None))
        self.assertRaises(CorruptRecords, unwrap, self.wrapper(inner)._replace(value=b"no gzip"))

    def test_codecs(self) -> None:
        """zstd and unknown codecs are unsupported."""
        wrapper = self.wrapper(encode_message(0, 1, 0, 4, None, b"a"))
        for number in (4, 5, 7):
            self.assertRaises(UnsupportedCompression, unwrap, wrapper._replace(attributes=number))

    def test_bomb(self) -> None:
        """A wrapper that holds more than the limit is corrupt."""
        inner = encode_message(0, 1, 0, 4, None, bytes(100_000))
        for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            wrapper = self.wrapper(inner, codec=codec)
            self.assertRaises(CorruptRecords, unwrap, wrapper, len(inner) - 1)
            self.assertEqual(unwrap(wrapper, len(inner)).data, inner)
