"""Values as bytes."""

from __future__ import annotations

import struct
from math import isnan, nan

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.packed import Order, pack, unpack


class PackedTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """Values have the layout that struct knows, in both orders, and are read back."""
        values = [0.0, 1.5, -3.25, 2.0**60]
        marks: dict[Order, str] = {"big": ">", "little": "<"}
        for order, mark in marks.items():
            data = pack(values, order)
            self.assertEqual(data, struct.pack(f"{mark}4f", *values))
            self.assertEqual(list(unpack(data, 4, order)), values)
        self.assertTrue(isnan(unpack(pack([nan]), 1)[0]))

    def test_wrong(self) -> None:
        """Bytes of another number of values are refused."""
        for data in (b"", b"\0" * 7, b"\0" * 8):
            self.assertRaises(ValueError, unpack, data, 1)
