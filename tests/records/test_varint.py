"""Tests of kafkatx.records.varint."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.records.varint import SMALL, VARLONG_BYTES, decode, encode
from tests.records.strategies import quick


class VarintTests(SynchronousTestCase):
    """Zigzag varints."""

    def test_known(self) -> None:
        """The encodings that Protocol Buffers' documentation and the width's edges give."""
        known = {0: "00", -1: "01", 1: "02", -64: "7f", 64: "8001", 8191: "fe7f", 8192: "808001"}
        known |= {2**31 - 1: "feffffff0f", -(2**31): "ffffffff0f", -(2**63): "ffffffffffffffffff01"}
        for value, encoded in known.items():
            self.assertEqual(encode(value).hex(), encoded)
            self.assertEqual(decode(bytes.fromhex(encoded), 0, VARLONG_BYTES), (value, len(encoded) // 2))

    @quick
    @given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
    def test_round_trip(self, value: int, before: bytes) -> None:
        """An encoded integer is decoded, at any position."""
        data = before + encode(value) + b"\x81"
        self.assertEqual(decode(data, len(before), VARLONG_BYTES), (value, len(data) - 1))

    def test_small(self) -> None:
        """The table of short encodings ends where a third byte would be needed."""
        self.assertEqual({len(encoded) for encoded in SMALL}, {1, 2})
        self.assertEqual(len(encode(len(SMALL))), 3)

    def test_cut_off(self) -> None:
        """An encoding that the data's end cuts off is corrupt at every length."""
        encoded = encode(2**62)
        for size in range(len(encoded)):
            self.assertRaises(CorruptRecords, decode, encoded[:size], 0, VARLONG_BYTES)

    def test_too_long(self) -> None:
        """More bytes than the kind allows are corrupt, not a large number."""
        self.assertRaises(CorruptRecords, decode, b"\x80" * 5 + b"\0", 0)
        self.assertRaises(CorruptRecords, decode, b"\x80" * 10 + b"\0", 0, VARLONG_BYTES)
        self.assertEqual(decode(b"\x80" * 4 + b"\0", 0), (0, 5))
