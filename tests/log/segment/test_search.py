"""Tests of kafkatx.log.segment.search: batches are found in spite of wrong indexes and base offsets."""

from __future__ import annotations

import struct

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.log.segment.segment import LogSegment
from kafkatx.testing.contracts.partition_log import NOW_MS
from tests.log.segments import make_segment, stored

BATCHES = [stored([b"x", b"y"], offset) for offset in range(100, 112, 2)]
ONE = len(BATCHES[0])


class SearchCase(SynchronousTestCase):
    sparse_below = 0

    def setUp(self) -> None:
        """Make a closed segment of six batches, with an index entry for each but the first."""
        self.segment = make_segment(self.mktemp(), *BATCHES, base_offset=100)
        self.segment.unload()
        self.segment.sparse_below = self.sparse_below
        self.segment.release()

    def change(self, suffix: str, at: int, data: bytes) -> None:
        """Write bytes into a file of the segment."""
        with open(self.segment.path(suffix), "r+b") as file:
            file.seek(at)
            file.write(data)

    def found(self, offset: int, segment: LogSegment | None = None) -> int | None:
        """The base offset of the batch that is found."""
        batch = (segment or self.segment).find(offset)
        return None if batch is None else batch.base_offset


class FindTests(SearchCase):
    def test_found(self) -> None:
        """Each offset is in its batch; there is none beyond the end."""
        found = [self.found(offset) for offset in range(99, 114)]
        self.assertEqual(found, [100, *[100 + n // 2 * 2 for n in range(12)], None, None])

    def test_position_is_wrong(self) -> None:
        """An index entry that points into a batch is noticed, and the index built again."""
        self.change(".index", 2 * 8 + 4, struct.pack(">I", 3 * ONE + 7))
        with capturedLogs() as events:
            for _ in range(2):
                self.assertEqual(self.found(107), 106)
        self.assertEqual(len(events), 1)

    def test_offset_is_wrong(self) -> None:
        """An entry that names an offset that its batch has not is noticed."""
        self.change(".index", 2 * 8, struct.pack(">I", 6))
        self.assertEqual([self.found(offset) for offset in (105, 106, 107, 108)], [104, 106, 106, 108])

    def test_base_offset_is_wrong(self) -> None:
        """A batch with another batch's offset is not given for that; its own offset is an error."""
        self.change(".log", 2 * ONE, struct.pack(">q", 107))
        self.assertRaises(CorruptRecords, self.found, 104)
        self.assertEqual(self.found(107), 106)

    def test_two_wrong(self) -> None:
        """Two consecutive batches that do not follow are an error."""
        for number in (2, 3):
            self.change(".log", number * ONE, struct.pack(">q", 500))
        self.assertRaises(CorruptRecords, list, self.segment.chained(self.segment.walk(), 100))

    def test_twin(self) -> None:
        """A twin with shared indexes finds past a wrong entry, and rebuilds nothing."""
        self.segment.make_ready()
        self.segment.index.values[2] = 3 * ONE + 7
        self.assertEqual(self.found(107, self.segment.twin()), 106)
        self.assertEqual(self.segment.index.values[2], 3 * ONE + 7)


class FollowTests(SearchCase):
    def test_followed(self) -> None:
        """Batches are checked before they are sent, as far as the reader asks."""
        self.segment.written_from = self.segment.size
        self.assertFalse(self.segment.is_followed(0))
        self.assertEqual(self.segment.follow(100, 0, ONE), ONE)
        self.assertTrue(self.segment.is_followed(0))
        self.assertFalse(self.segment.is_followed(ONE))
        self.assertEqual(self.segment.follow(102, ONE, 3 * ONE), 4 * ONE)

    def test_written_here(self) -> None:
        """Batches that this process has written are not checked."""
        self.segment.written_from = 2 * ONE
        self.assertEqual(self.segment.follow(104, 2 * ONE, ONE), self.segment.size)

    def test_stops_at_damage(self) -> None:
        """A reader is sent what is before a batch that does not follow, and then an error."""
        self.segment.written_from = self.segment.size
        self.change(".log", 3 * ONE, struct.pack(">q", 500))
        self.assertEqual(self.segment.follow(100, 0, self.segment.size), 3 * ONE)
        self.assertRaises(CorruptRecords, self.segment.follow, 106, 3 * ONE, ONE)

    def test_wrong_length(self) -> None:
        """A batch whose length leads astray is not sent either."""
        self.segment.written_from = self.segment.size
        self.change(".log", 2 * ONE + 8, struct.pack(">i", ONE))
        self.assertEqual(self.segment.follow(100, 0, self.segment.size), 2 * ONE)


class SparseTests(SearchCase):
    sparse_below = 1 << 40

    def test_gap(self) -> None:
        """On a compacted log an offset in a gap is in the batch after it."""
        segment = make_segment(self.mktemp(), BATCHES[0], BATCHES[3], base_offset=100)
        segment.sparse_below = self.sparse_below
        self.assertEqual(
            [self.found(offset, segment) for offset in (101, 102, 105, 106)], [100, 106, 106, 106]
        )

    def test_too_high(self) -> None:
        """A base offset above that of the next batch is an error, although gaps are right."""
        self.change(".log", 2 * ONE, struct.pack(">q", 500))
        self.assertRaises(CorruptRecords, self.found, 104)

    def test_time_is_kept(self) -> None:
        """The newest timestamp is known from the batches."""
        self.assertEqual(self.segment.max_timestamp, NOW_MS)
