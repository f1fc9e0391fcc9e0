"""Tests of varints and tagged sections."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ProtocolViolation
from kafkatx.wire.primitives import read_uvarint, skip_tagged, tagged, uvarint
from tests.wire.strategies import quick


class UvarintTests(SynchronousTestCase):
    """Unsigned varints."""

    def test_known_values(self) -> None:
        """The bytes are those that the format says."""
        known = {
            0: b"\x00",
            127: b"\x7f",
            128: b"\x80\x01",
            300: b"\xac\x02",
            2**32 - 1: b"\xff\xff\xff\xff\x0f",
        }
        self.assertEqual({value: uvarint(value) for value in known}, known)

    @quick(200)
    @given(st.integers(0, 2**32 - 1), st.binary(max_size=3))
    def test_round_trip(self, value: int, before: bytes) -> None:
        """A written number is read again, with the position after it."""
        data = before + uvarint(value)
        self.assertEqual(read_uvarint(data + b"\xff", len(before)), (value, len(data)))

    def test_too_long(self) -> None:
        """Six bytes, or more than 32 bits in five, are a violation."""
        self.assertRaises(ProtocolViolation, read_uvarint, b"\x80\x80\x80\x80\x80\x01", 0)
        self.assertRaises(ProtocolViolation, read_uvarint, b"\xff\xff\xff\xff\x1f", 0)


class TaggedTests(SynchronousTestCase):
    """Sections of tagged fields."""

    def test_skip(self) -> None:
        """A section is passed over by the sizes of its fields."""
        section = b"\x02" + tagged(0, [b"ab", b"c"]) + tagged(300, [bytes(200)])
        self.assertEqual(skip_tagged(b"?" + section + b"rest", 1), 1 + len(section))

    def test_layout(self) -> None:
        """A tagged field is its tag, its size, its bytes."""
        self.assertEqual(tagged(5, [b"ab", b"c"]), b"\x05\x03abc")
