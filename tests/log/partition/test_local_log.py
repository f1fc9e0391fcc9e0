"""Tests of kafkatx.log.partition.local_log: segments are written, rolled, cut, dropped and replaced."""

from __future__ import annotations

import os

import attrs
from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.partition.local_log import LocalLog, number_of
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.log.segment.scan import ALWAYS_SPARSE
from kafkatx.testing.contracts.partition_log import NOW_MS, TP
from tests.log.fakes import FailingFiles
from tests.log.segments import make_segment, staged, stored

ONE = len(stored([b"x"], 0))


class LocalLogCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log whose segments hold two batches of one record."""
        self.files = FailingFiles()
        self.directory = os.path.abspath(self.mktemp())
        self.location = LogLocation(TP, self.directory, self.files, execute)
        self.config = LogConfig(segment_bytes=2 * ONE, index_interval_bytes=0)
        first = make_segment(self.directory, files=self.files)
        self.local = LocalLog(self.location, [first], self.config, 0)

    def write(self, *offsets: int, now_ms: int = NOW_MS) -> list[int]:
        """Write a record at each offset in one write; return where segments begin that were made."""
        return list(self.local.write(staged(*[stored([b"x"], offset) for offset in offsets], now_ms=now_ms)))

    def bases(self) -> list[int]:
        """Return the base offsets of the segments."""
        return [segment.base_offset for segment in self.local.segments]


class WriteTests(LocalLogCase):
    def test_fits(self) -> None:
        """A write that fits goes to the active segment and makes none."""
        self.assertEqual(self.write(0, 1), [])
        self.assertEqual((self.bases(), self.local.size_bytes), ([0], 2 * ONE))

    def test_rolls(self) -> None:
        """A write fills as many segments as it takes, and tells where they begin."""
        self.assertEqual(self.write(0, 1, 2, 3, 4), [2, 4])
        self.assertEqual((self.bases(), self.local.size_bytes), ([0, 2, 4], 5 * ONE))
        self.assertTrue(self.local.directory_unsynced)

    def test_rolls_by_age(self) -> None:
        """A segment that is older than segment.ms takes no more; an empty one does."""
        self.assertEqual(self.write(0, now_ms=NOW_MS + self.config.segment_ms + 1), [])
        self.assertEqual(self.write(1, now_ms=NOW_MS + self.config.segment_ms + 1), [1])

    def test_all_or_nothing(self) -> None:
        """A write that fails in its second segment leaves nothing of itself, and no segment."""
        self.write(0)
        self.files.bytes_left = 2 * ONE + 20
        self.assertRaises(OSError, self.write, 1, 2, 3)
        self.files.bytes_left = None
        self.assertEqual((self.bases(), self.local.size_bytes, self.local.segments[0].size), ([0], ONE, ONE))
        self.assertEqual(sorted(os.listdir(self.directory))[-1], f"{0:020d}.timeindex")
        self.assertEqual(self.write(1, 2), [2])

    def test_number_of(self) -> None:
        """An offset is in the last segment that begins at or before it."""
        self.write(0, 1, 2, 3, 4)
        numbers = [number_of(self.local.segments, offset) for offset in range(6)]
        self.assertEqual(numbers, [0, 0, 1, 1, 2, 2])

    def test_unload_closed(self) -> None:
        """Closed segments free their indexes, except for the last one."""
        self.write(*range(10))
        self.local.unload_closed(4)
        self.assertEqual(
            [segment.index.loaded for segment in self.local.segments], [False, False, False, True, True]
        )


class CutTests(LocalLogCase):
    def test_truncate(self) -> None:
        """Truncation removes later segments, cuts the one that holds the offset, and begins a new file."""
        self.write(*range(6))
        self.local.truncate_to(3, NOW_MS)
        self.assertEqual((self.bases(), self.local.size_bytes, self.local.cuts), ([0, 2, 3], 3 * ONE, 1))
        self.assertEqual(self.write(3), [])

    def test_truncate_inside_a_batch(self) -> None:
        """A batch that holds the offset goes as a whole; the next segment begins at the offset."""
        self.local.write(staged(stored([b"a", b"b", b"c"], 0)))
        self.local.truncate_to(1, NOW_MS)
        self.assertEqual((self.bases(), self.local.size_bytes), ([1], 0))

    def test_truncate_compacted(self) -> None:
        """Truncated offsets do not count as compacted any more."""
        self.write(*range(6))
        self.local.first_dirty_offset = 5
        self.local.truncate_to(3, NOW_MS)
        self.assertEqual(self.local.first_dirty_offset, 3)

    def test_drop(self) -> None:
        """Dropped segments leave the list at once; their files are renamed and told."""
        self.write(*range(6))
        segments = self.local.segments
        paths = self.local.drop(2)
        self.assertIs(self.local.segments, segments)
        self.assertEqual((self.bases(), self.local.size_bytes), ([4], 2 * ONE))
        self.assertEqual(len(paths), 6)
        self.assertTrue(all(os.path.exists(path) and path.endswith(".deleted") for path in paths))

    def test_replace(self) -> None:
        """A compacted segment takes the place of several, in the same list."""
        self.write(*range(6))
        old = self.local.segments[:2]
        new = make_segment(self.mktemp(), stored([b"x"], 1), base_offset=0)
        self.local.replace(old, new)
        self.assertEqual((self.bases(), self.local.size_bytes), ([0, 4], 3 * ONE))
        self.assertIs(self.local.segments[0], new)


class SettingsTests(LocalLogCase):
    def test_gaps(self) -> None:
        """All of a compacted log may have gaps; of another one the part that was compacted."""
        self.local.first_dirty_offset = 1
        self.local.configure(attrs.evolve(self.config, cleanup_policy=frozenset(["compact"])))
        self.assertEqual(self.local.segments[0].sparse_below, ALWAYS_SPARSE)
        self.local.configure(self.config)
        self.assertEqual(self.local.segments[0].sparse_below, 1)

    def test_descriptors(self) -> None:
        """Segments that are made later are bounded by the same limit of open files."""
        descriptors = Descriptors(10)
        self.local.limit_open_files(descriptors)
        self.write(0, 1, 2)
        self.assertIs(self.local.segments[1].descriptors, descriptors)

    def test_unsynced(self) -> None:
        """A segment is unsynced from a write on, until its files are taken to be synced."""
        self.write(0, 1, 2)
        self.assertEqual(self.local.unsynced(), self.local.segments)
        for segment in self.local.segments:
            segment.to_sync()
        self.assertEqual(self.local.unsynced(), [])
        self.local.mark_unsynced(self.local.segments[:1])
        self.assertEqual(self.local.unsynced(), self.local.segments[:1])

    def test_moved(self) -> None:
        """After a move all paths are in the new directory, and the active segment is unsynced there."""
        self.write(0, 1, 2)
        for segment in self.local.segments:
            segment.to_sync()
        self.location.move_to("/elsewhere", execute, lambda error, doing: None)
        self.local.moved()
        for segment in self.local.segments:
            paths = {os.path.dirname(one) for one in (segment.path(".log"), segment.index.path)}
            self.assertEqual(paths, {"/elsewhere"})
        self.assertEqual(self.local.unsynced(), self.local.segments[-1:])
        self.assertTrue(self.local.directory_unsynced and self.local.parent_unsynced)
