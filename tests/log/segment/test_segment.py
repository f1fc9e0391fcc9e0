"""Tests of kafkatx.log.segment.segment: appends, cuts, lookups and indexes of one segment."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.files import Buffers
from kafkatx.log.segment.index import IndexDamaged
from kafkatx.log.segment.segment import LogSegment
from kafkatx.testing.contracts.partition_log import NOW_MS
from kafkatx.types import SharedFile
from tests.log.fakes import FailingFiles
from tests.log.segments import append, info, make_segment, stored

BATCHES = [stored([b"x", b"y"], offset, [NOW_MS + offset, NOW_MS]) for offset in range(100, 110, 2)]
ONE = len(BATCHES[0])


class SegmentCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a segment of five batches, with an index entry for each but the first."""
        self.files = FailingFiles()
        self.directory = self.mktemp()
        self.segment = make_segment(self.directory, *BATCHES, base_offset=100, files=self.files)

    def reopened(self) -> LogSegment:
        """The same segment, whose indexes are only in their files."""
        return LogSegment(self.files, self.directory, 100, self.segment.size, NOW_MS)

    def entries(self, segment: LogSegment) -> list[tuple[int, int]]:
        """The offset index."""
        return list(zip(segment.index.keys, segment.index.values, strict=True))


class WriteTests(SegmentCase):
    def test_indexed(self) -> None:
        """An entry has a batch's last offset and position; the newest time goes with it."""
        self.assertEqual(self.entries(self.segment), [(3 + 2 * n, ONE * (n + 1)) for n in range(4)])
        self.assertEqual((self.segment.max_timestamp, self.segment.max_timestamp_offset), (NOW_MS + 108, 109))

    def test_interval(self) -> None:
        """Entries are as far apart as the setting says."""
        segment = make_segment(self.mktemp(), *BATCHES, base_offset=100, interval=2 * ONE)
        self.assertEqual(self.entries(segment), [(7, 3 * ONE)])

    def test_failed(self) -> None:
        """After a failed write size, indexes and file are as before."""
        data = stored([b"z"], 110)
        before = (self.segment.size, self.entries(self.segment), self.segment.max_timestamp)
        self.files.bytes_left = 20
        with self.assertRaises(OSError):
            self.segment.write([data], [info(data)], len(data), 0)
        self.files.bytes_left = None
        self.assertEqual((self.segment.size, self.entries(self.segment), self.segment.max_timestamp), before)
        self.assertEqual(os.path.getsize(self.segment.path(".log")), self.segment.size)

    def test_one_write(self) -> None:
        """One append writes the log, then all of its entries to each index with one call."""
        segment = make_segment(self.mktemp(), base_offset=100, files=self.files)
        writes: list[str] = []
        writev = self.files.writev

        def noted(file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
            writes.append(os.path.splitext(file.path)[1])
            writev(file, buffers, position, size)

        self.patch(self.files, "writev", noted)
        segment.write(BATCHES, [info(data) for data in BATCHES], len(BATCHES) * ONE, 0)
        self.assertEqual(writes, [".log", ".index", ".timeindex"])
        self.assertEqual(self.entries(segment), self.entries(self.segment))
        for one in (".index", ".timeindex"):
            with open(segment.path(one), "rb") as ours, open(self.segment.path(one), "rb") as other:
                self.assertEqual(ours.read(), other.read())

    def test_part_of_entries(self) -> None:
        """A full disk that takes some of the entries leaves none in the files."""
        segment = make_segment(self.mktemp(), base_offset=100, files=self.files)
        for entries_bytes in (2 * 8, 4 * 8 + 2 * 12):
            self.files.bytes_left = len(BATCHES) * ONE + entries_bytes
            with self.assertRaises(OSError):
                segment.write(BATCHES, [info(data) for data in BATCHES], len(BATCHES) * ONE, 0)
            self.files.bytes_left = None
            self.assertEqual(self.entries(segment), [])
            for one in (".log", ".index", ".timeindex"):
                self.assertEqual(os.path.getsize(segment.path(one)), 0)

    def test_restore(self) -> None:
        """A segment goes back to a mark, also where the disk will not cut the file."""
        mark = self.segment.mark()
        append(self.segment, stored([b"z"], 110, [NOW_MS + 999]))
        self.files.fail_truncate = True
        self.segment.restore(mark)
        self.assertEqual((self.segment.size, self.segment.max_timestamp), (5 * ONE, NOW_MS + 108))
        append(self.segment, stored([b"zz"], 110))
        self.assertEqual(self.segment.next_offset(), 111)

    def test_index_full(self) -> None:
        """An index is full while one entry more, and the last of the time index, would not fit."""
        self.assertFalse(self.segment.index_full(6 * 12))
        self.assertTrue(self.segment.index_full(6 * 12 - 1))

    def test_finish(self) -> None:
        """A closed segment's time index ends with its newest timestamp."""
        self.segment.finish()
        last = self.segment.time_index.last_entry()
        self.assertEqual(last, (NOW_MS + 108, 9))


class ReadTests(SegmentCase):
    def test_position_of(self) -> None:
        """Each offset is at its batch; one beyond the end at the size."""
        for segment in (self.segment, self.reopened()):
            found = [segment.position_of(offset) for offset in range(100, 112)]
            self.assertEqual(found, [ONE * (n // 2) for n in range(10)] + [5 * ONE] * 2)

    def test_cached_position(self) -> None:
        """Nothing is opened to find a position."""
        segment = self.reopened()
        self.assertIsNone(segment.cached_position(105))
        self.assertEqual(self.segment.cached_position(105), 2 * ONE)

    def test_whole_until(self) -> None:
        """The end of the last whole batch, whose follower is remembered."""
        self.assertEqual(self.segment.whole_until(ONE, 3 * ONE + 5), 3 * ONE)
        self.assertEqual(self.segment.known[106], 3 * ONE)
        self.assertEqual(self.segment.whole_until(ONE, ONE + 5), ONE)

    def test_next_offset(self) -> None:
        """The offset after the last record, the base offset if there is none."""
        self.assertEqual(self.reopened().next_offset(), 110)
        self.assertEqual(make_segment(self.mktemp(), base_offset=7).next_offset(), 7)

    def test_twin(self) -> None:
        """A twin finds the same, and may not rebuild an index."""
        twin = self.segment.twin()
        self.assertEqual(twin.position_of(105), 2 * ONE)
        self.assertRaises(CorruptRecords, twin.reindex)

    def test_age(self) -> None:
        """A segment without timestamps has its file's time, also while it waits to be deleted."""
        segment = make_segment(self.mktemp(), stored([b"x"], 0, [-1]))
        os.utime(segment.path(".log"), ns=(0, 5_000_000))
        self.assertEqual(segment.max_timestamp_ms, 5)
        segment.put_aside()
        self.assertEqual(segment.max_timestamp_ms, 5)
        self.assertEqual(self.segment.max_timestamp_ms, NOW_MS + 108)


class IndexTests(SegmentCase):
    def test_rebuilt(self) -> None:
        """A missing index is built again as it was."""
        before = self.entries(self.segment)
        os.unlink(self.segment.path(".index"))
        segment = self.reopened()
        segment.reindex(0)
        self.assertEqual(self.entries(segment), before)
        self.assertEqual((segment.max_timestamp, segment.incomplete), (NOW_MS + 108, False))

    def test_damaged_log(self) -> None:
        """Indexes are built up to damage, and the segment is known to be incomplete."""
        with open(self.segment.path(".log"), "r+b") as file:
            file.seek(3 * ONE + 16)
            file.write(b"\x09")
        segment = self.reopened()
        segment.reindex(0)
        self.assertTrue(segment.incomplete)
        self.assertEqual(len(segment.index), 2)

    def test_unload(self) -> None:
        """A closed segment frees its arrays and finds batches by its files."""
        self.segment.unload()
        self.assertEqual(len(self.segment.index), 0)
        self.segment.known.clear()
        self.assertEqual(self.segment.position_of(107), 3 * ONE)
        self.segment.index.open()
        os.unlink(self.segment.path(".index"))
        self.segment.release()
        self.assertRaises(IndexDamaged, self.segment.index.open)

    def test_truncate(self) -> None:
        """A cut takes batches, index entries and the newest timestamp."""
        self.segment.truncate(2 * ONE, 104)
        self.assertEqual((self.segment.size, self.segment.next_offset()), (2 * ONE, 104))
        self.assertEqual((self.entries(self.segment), self.segment.max_timestamp), ([(3, ONE)], NOW_MS + 102))

    def test_move_to(self) -> None:
        """After a move all files are those of the other directory."""
        other = self.mktemp()
        os.rename(self.directory, other)
        self.segment.move_to(other)
        self.segment.known.clear()
        append(self.segment, stored([b"z"], 110))
        self.assertEqual(os.path.getsize(os.path.join(other, f"{100:020d}.log")), self.segment.size)
        self.assertEqual(self.segment.next_offset(), 111)
