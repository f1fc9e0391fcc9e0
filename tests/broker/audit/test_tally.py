"""Tests of kafkatx.broker.audit.tally."""

from __future__ import annotations

import os
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.audit.tally import Tally
from kafkatx.clientcore.audit.ranges import MAX_WINDOWS
from kafkatx.errors import CorruptRecords
from kafkatx.records.builder import BatchBuilder, assemble
from kafkatx.records.compression import Codec
from kafkatx.records.conversion import down_convert
from kafkatx.records.header import CONTROL, TIMESTAMP_TYPE
from kafkatx.types import FileSlice, SharedFile

WINDOW_MS = 1000
SECOND_MS = 5000


def batch(base_offset: int, *times_ms: int, codec: Codec = Codec.NONE) -> bytes:
    """Return a batch with a record of each time."""
    builder = BatchBuilder(codec=codec)
    for time_ms in times_ms:
        builder.append(b"k", b"v" * 200, time_ms)
    return builder.build(base_offset=base_offset)


def tally(*batches: bytes, start: int = 0) -> Tally:
    """Return the tally of these batches."""
    found = Tally(start, WINDOW_MS)
    found.take(b"".join(batches))
    return found


class WindowTests(SynchronousTestCase):
    """The windows of records."""

    def test_one_window(self) -> None:
        """A batch within one window is counted there, compressed or not."""
        for codec in Codec:
            found = tally(batch(0, 5000, 5999, codec=codec))
            self.assertEqual((found.windows, found.end, found.absent), ({5000: 2}, 2, 0))

    def test_several(self) -> None:
        """Records of one batch are counted in their own windows, also those before the first record's."""
        found = tally(batch(0, 5500, 4999, 6000, 5000), batch(4, 7000))
        self.assertEqual(found.windows, {4000: 1, 5000: 2, 6000: 1, 7000: 1})
        self.assertEqual(tally(batch(0, 5000, 4999)).windows, {4000: 1, 5000: 1})

    @settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.integers(-(1 << 40), 1 << 45), min_size=1, max_size=30))
    def test_any_times(self, times: list[int]) -> None:
        """The counts are those of the timestamps, however these are spread."""
        found = tally(batch(0, *times))
        self.assertEqual(found.windows, Counter(time // WINDOW_MS * WINDOW_MS for time in times))

    def test_log_append_time(self) -> None:
        """The broker's time counts where it has replaced those of the records."""
        body = batch(0, 1000, 2000)[61:]
        found = tally(assemble(body, 2, TIMESTAMP_TYPE, 1000, 9000, base_offset=0))
        self.assertEqual(found.windows, {9000: 2})

    def test_old_formats(self) -> None:
        """Messages of magic 1 are counted by their time, those of magic 0 as records without one."""
        data = batch(0, 5000, 6000)
        self.assertEqual(tally(down_convert(data, 1, 0, 1 << 20)).windows, {5000: 1, 6000: 1})
        self.assertEqual(tally(down_convert(data, 0, 0, 1 << 20)).windows, {-1000: 2})


class RangeTests(SynchronousTestCase):
    """The range of offsets."""

    def test_begins_within(self) -> None:
        """Records below the range are left out: it may begin within a batch."""
        found = tally(batch(0, 5000), batch(1, 5000, 5001, 6000), start=3)
        self.assertEqual((found.windows, found.end, found.absent), ({6000: 1}, 4, 0))

    def test_gaps(self) -> None:
        """Offsets that compaction has removed are absent."""
        found = tally(batch(2, 5000), batch(7, 5000))
        self.assertEqual((found.end, found.absent, found.markers), (8, 6, 0))

    def test_markers(self) -> None:
        """The end marker of a transaction is no record, and is not absent."""
        body = batch(0, 5000)[61:]
        found = tally(assemble(body, 1, CONTROL, 5000, 5000, base_offset=0), batch(1, 5000))
        self.assertEqual((found.windows, found.markers, found.absent), ({5000: 1}, 1, 0))

    def test_epoch(self) -> None:
        """The epoch of the last batch is known."""
        body = batch(0, 5000)[61:]
        found = tally(assemble(body, 1, 0, 5000, 5000, base_offset=0, leader_epoch=7))
        self.assertEqual(found.epoch, 7)

    def test_full(self) -> None:
        """A range ends after a batch with many windows; the rest is left for another."""
        many = batch(0, *(WINDOW_MS * number for number in range(MAX_WINDOWS)))
        found = tally(many, batch(MAX_WINDOWS, 5000))
        self.assertEqual((found.is_full, found.end), (True, MAX_WINDOWS))

    def test_damaged(self) -> None:
        """A batch whose checksum is wrong is not counted, and those after it are."""
        bad = bytearray(batch(0, 5000))
        bad[-1] ^= 1
        found = tally(bytes(bad), batch(1, 6000))
        self.assertEqual((found.windows, found.damaged, found.absent), ({6000: 1}, 1, 1))
        self.assertRaises(CorruptRecords, tally, b"\0" * 16 + b"\x09" + b"\0" * 80)

    def test_file(self) -> None:
        """A slice of a file is read by the worker."""
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(batch(0, 5000))
        found = Tally(0, WINDOW_MS)
        found.take(FileSlice(SharedFile(path, os.O_RDONLY), 0, len(batch(0, 5000))))
        self.assertEqual(found.windows, {5000: 1})
