"""The offset index and the time index."""

from __future__ import annotations

import os
import struct

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Files
from kafkatx.log.segment.index import IndexDamaged, OffsetIndex, TimeIndex


class IndexTests(SynchronousTestCase):
    """Both indexes, on files that are as they should be and on others."""

    def setUp(self) -> None:
        """A path for an index."""
        self.path = self.mktemp()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)

    def content(self) -> bytes:
        """The index's file."""
        with open(self.path, "rb") as file:
            return file.read()

    def offset_index(self, data: bytes | None = None) -> OffsetIndex:
        """An index of a segment that begins at 1000, with this file."""
        index = OffsetIndex(Files(), self.path, 1000)
        if data is None:
            index.reset()
        else:
            with open(self.path, "wb") as file:
                file.write(data)
        return index

    def time_index(self, data: bytes | None = None) -> TimeIndex:
        """A time index of the same segment."""
        index = TimeIndex(Files(), self.path, 1000)
        if data is None:
            index.reset()
        else:
            with open(self.path, "wb") as file:
                file.write(data)
        return index

    def test_offset_entries(self) -> None:
        """Entries are written as they are made: relative offset and position, u32 each."""
        index = self.offset_index()
        index.append(1005, 4200)
        index.append(1000 + 2**31 - 1, 2**31)
        self.assertEqual(self.content(), struct.pack(">IIII", 5, 4200, 2**31 - 1, 2**31))
        again = OffsetIndex(Files(), self.path, 1000)
        again.load()
        self.assertEqual((list(again.keys), list(again.values)), ([5, 2**31 - 1], [4200, 2**31]))
        self.assertEqual(again.last_entry(), (2**31 - 1, 2**31))

    def test_offset_floor(self) -> None:
        """The entry at or before an offset is found, in memory as in the file; -1 is the start."""
        index = self.offset_index()
        index.append(1005, 4200)
        index.append(1010, 9000)
        asked = (0, 1000, 1004, 1005, 1009, 1010, 5000)
        self.assertEqual([index.number_before(offset) for offset in asked], [-1, -1, -1, 0, 0, 1, 1])
        self.assertEqual([index.number_before(offset, Files()) for offset in asked], [-1, -1, -1, 0, 0, 1, 1])

    def test_offset_cut(self) -> None:
        """Entries from an offset on are dropped, in the file too; what follows is written in their place."""
        index = self.offset_index()
        for number in range(1, 5):
            index.append(1000 + number * 10, number * 100)
        index.cut_from(1020)
        index.append(1025, 250)
        self.assertEqual(self.content(), struct.pack(">IIII", 10, 100, 25, 250))
        index.cut_from(0)
        self.assertEqual(self.content(), b"")

    def test_time_entries(self) -> None:
        """A time that is no later than the last is no entry; the file has i64 and u32."""
        index = self.time_index()
        for timestamp, offset in ((50, 1001), (50, 1002), (40, 1003), (1 << 40, 1004)):
            index.append(timestamp, offset)
        self.assertEqual(self.content(), struct.pack(">qIqI", 50, 1, 1 << 40, 4))
        again = TimeIndex(Files(), self.path, 1000)
        again.load()
        self.assertEqual((list(again.keys), list(again.values)), ([50, 1 << 40], [1, 4]))
        self.assertEqual(again.last_entry(), (1 << 40, 4))

    def test_negative_time(self) -> None:
        """Times before 1970 are read with their sign."""
        index = self.time_index(struct.pack(">qIqI", -(1 << 40), 1, 7, 4))
        index.load()
        self.assertEqual(list(index.keys), [-(1 << 40), 7])

    def test_time_floor(self) -> None:
        """No record below the floor's offset is at or after the time, though any one entry lies."""
        index = self.time_index()
        index.append(50, 1005)
        index.append(60, 1010)
        index.append(70, 1020)
        asked = (0, 50, 51, 60, 61, 71)
        self.assertEqual([index.floor(time) for time in asked], [1000, 1000, 1000, 1000, 1005, 1010])

    def test_damaged_offset_index(self) -> None:
        """Half entries, zeros, and columns that do not rise are damage; so is no file."""
        for data in (
            b"abc",
            bytes(8),
            bytes(16),
            struct.pack(">IIII", 5, 100, 5, 200),
            struct.pack(">IIII", 5, 100, 6, 100),
            struct.pack(">IIII", 5, 100, 4, 200),
        ):
            self.assertRaises(IndexDamaged, self.offset_index(data).load)
        os.unlink(self.path)
        self.assertRaises(IndexDamaged, OffsetIndex(Files(), self.path, 1000).load)
        self.assertRaises(IndexDamaged, OffsetIndex(Files(), self.path, 1000).last_entry)

    def test_damaged_time_index(self) -> None:
        """The same for the time index; offsets may stay the same, times may not."""
        self.time_index(struct.pack(">qIqI", 5, 7, 6, 7)).load()
        for data in (
            b"abc",
            bytes(24),
            struct.pack(">qIqI", 5, 7, 5, 8),
            struct.pack(">qIqI", 5, 7, 6, 6),
        ):
            self.assertRaises(IndexDamaged, self.time_index(data).load)
