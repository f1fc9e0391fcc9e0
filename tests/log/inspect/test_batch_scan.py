"""Tests of kafkatx.log.inspect.batch_scan: damage is passed over, and no more than the damage."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Files
from kafkatx.log.inspect import batch_scan
from kafkatx.log.inspect.batch_scan import BatchScan, Damage, ScannedBatch
from kafkatx.records.batch import Record
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.header import LENGTH_AT, MAGIC_AT
from kafkatx.records.legacy.message_sets import build

BASE = 2**32 - 10
"""Offsets that cross a boundary of 32 bits: what the search looks for changes with them."""


def batches(count: int, size: int = 20) -> list[bytes]:
    """Batches of one record."""
    return [build_values([b"v" * size], 1, base_offset=BASE + n) for n in range(count)]


class SurveyTests(SynchronousTestCase):
    def survey(self, data: bytes, base_offset: int = BASE) -> list[ScannedBatch | Damage]:
        """Return the items of a scan of these bytes."""
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(data)
        return list(BatchScan(Files(), Files().open(path, os.O_RDONLY), base_offset, len(data)))

    def outline(self, data: bytes) -> list[tuple[str, int, int]]:
        """Return the items as (kind, position, size)."""
        return [
            ("batch", item.batch.position, item.batch.size)
            if isinstance(item, ScannedBatch)
            else ("damage", item.position, item.size)
            for item in self.survey(data)
        ]

    def test_a_flipped_byte(self) -> None:
        """One wrong byte, wherever in a batch, costs that batch and no other; offsets and epochs none."""
        parts = batches(20)
        size = len(parts[0])
        sound = [("batch", n * size, size) for n in range(20)]
        for at in range(LENGTH_AT, size):
            if at in range(12, MAGIC_AT):
                continue
            data = bytearray(b"".join(parts))
            data[7 * size + at] ^= 0x55
            expected = list(sound)
            expected[7] = ("damage", 7 * size, size)
            self.assertEqual(self.outline(bytes(data)), expected, at)

    def test_a_hole(self) -> None:
        """Zeros or noise in place of some bytes, as a torn page leaves them, cost what they touch."""
        parts = batches(20, 300)
        size = len(parts[0])
        for filling in (b"\0", b"\xff", b"\2"):
            data = bytearray(b"".join(parts))
            data[5 * size + 30 : 8 * size + 30] = filling * (3 * size)
            found = self.outline(bytes(data))
            self.assertEqual([item[0] for item in found].count("batch"), 16)
            damage = [item for item in found if item[0] == "damage"]
            self.assertEqual((damage[0][1], sum(item[2] for item in damage)), (5 * size, 4 * size))

    def test_a_batch_within(self) -> None:
        """Bytes in a damaged record that look like an older batch are not taken for the next batch."""
        parts = batches(6)
        inner = build_values([parts[0]], 1, base_offset=BASE + 3)
        data = bytearray(b"".join((*parts[:3], inner, *parts[4:])))
        at = 3 * len(parts[0])
        data[at + LENGTH_AT + 3] ^= 0x55
        expected = [("batch", n * len(parts[0]), len(parts[0])) for n in range(3)]
        expected.append(("damage", at, len(inner)))
        expected += [("batch", at + len(inner) + n * len(parts[0]), len(parts[0])) for n in range(2)]
        self.assertEqual(self.outline(bytes(data)), expected)

    def test_cut_off(self) -> None:
        """A file that ends within a batch is cut off there; one whose last batch is wrong is not."""
        data = b"".join(batches(3))
        size = len(data) // 3
        for end in range(2 * size + 1, 3 * size):
            last = self.survey(data[:end])[-1]
            assert isinstance(last, Damage)
            self.assertTrue(last.cut_off, end)
            self.assertEqual((last.position, last.size), (2 * size, end - 2 * size))
        last = self.survey(data[:-1] + b"?")[-1]
        assert isinstance(last, Damage)
        self.assertFalse(last.cut_off)
        last = self.survey(data + bytes(500))[-1]
        assert isinstance(last, Damage)
        self.assertFalse(last.cut_off)

    def test_small_window(self) -> None:
        """Batches larger than the window are checked all the same, and damage in them is found."""
        data = b"".join(batches(4, 1000))
        size = len(data) // 4
        self.patch(batch_scan, "WINDOW_BYTES", 100)
        self.assertEqual(self.outline(data), [("batch", n * size, size) for n in range(4)])
        wrong = bytearray(data)
        wrong[2 * size - 5] ^= 1
        wrong[size + LENGTH_AT + 1] ^= 1
        expected = [("batch", 0, size), ("damage", size, size)]
        expected += [("batch", n * size, size) for n in (2, 3)]
        self.assertEqual(self.outline(bytes(wrong)), expected)

    def test_old_formats(self) -> None:
        """Messages of magic 0 and 1 are checked by their own checksum, compressed or not."""
        records = [Record(BASE + n, 5, b"k", b"v" * n, []) for n in range(4)]
        for magic in (0, 1):
            for codec in (Codec.NONE, Codec.GZIP):
                data = build(records, magic, codec)
                items = self.survey(data)
                self.assertEqual(len(items), 4 if codec == Codec.NONE else 1)
                self.assertTrue(all(isinstance(item, ScannedBatch) for item in items))
                self.assertIsInstance(self.survey(data[:-1] + b"?")[-1], Damage)

    def test_too_large(self) -> None:
        """A batch beyond the limit is not read into memory to be decoded."""
        data = batches(1)[0]
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(data)
        look = BatchScan(Files(), Files().open(path, os.O_RDONLY), BASE, len(data))
        (item,) = look
        assert isinstance(item, ScannedBatch)
        self.assertEqual(next(look.records(item.batch)).value, b"v" * 20)
        self.patch(batch_scan, "LIMIT_BYTES", 50)
        self.assertRaises(CorruptRecords, list, look.records(item.batch))

    @settings(deadline=None, max_examples=150)
    @given(st.binary(max_size=400), st.integers(0, 4), st.integers(0, 90))
    def test_any_bytes(self, noise: bytes, before: int, cut: int) -> None:
        """The items of a scan cover any bytes once and in order."""
        parts = batches(6)
        data = b"".join(parts[:before]) + noise + b"".join(parts[before:])
        data = data[: len(data) - cut]
        found = self.outline(data)
        ends = [0, *(position + size for _, position, size in found)]
        self.assertEqual([position for _, position, _ in found], ends[:-1])
        self.assertEqual(ends[-1], len(data))
        self.assertTrue(all(size > 0 for _, _, size in found))
