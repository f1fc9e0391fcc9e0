"""Tests of kafkatx.log.partition.compaction: which results of a pass are taken, and which are refused."""

from __future__ import annotations

import errno
import os

from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.files import Files
from kafkatx.log.partition.compaction import LogCompaction
from kafkatx.log.partition.local_log import LocalLog
from kafkatx.log.partition.location import LogLocation
from kafkatx.log.segment.swap import Cleaned, CleanedSegment, suffix_of
from kafkatx.testing.contracts.partition_log import NOW_MS, TP
from tests.log.segments import append, make_segment, staged, stored

ONE = len(stored([b"x"], 0))


class LogCompactionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of three segments, and a compacted segment for the first two."""
        self.directory = os.path.abspath(self.mktemp())
        self.files = Files()
        self.told: list[str] = []
        location = LogLocation(
            TP, self.directory, self.files, execute, lambda error, doing: self.told.append(doing)
        )
        config = LogConfig(segment_bytes=2 * ONE)
        self.local = LocalLog(location, [make_segment(self.directory)], config, 0)
        self.local.write(staged(*[stored([b"x"], offset) for offset in range(5)]))
        self.compaction = LogCompaction(location, self.local)

    def cleaned(self, *replaces: int) -> Cleaned:
        """Return a segment with one record that replaces these, written by the pass "p"."""
        segment = CleanedSegment(self.files, self.directory, replaces[0], 0, NOW_MS, suffix_of("p"))
        segment.make()
        append(segment, stored([b"x"], 3))
        return Cleaned(replaces[0], replaces, segment.size, NOW_MS, 3)

    def bases(self) -> list[int]:
        """Return the base offsets of the segments."""
        return [segment.base_offset for segment in self.local.segments]

    def test_taken(self) -> None:
        """The new segment replaces both; the old files are renamed and told."""
        self.compaction.begin_pass("p")
        renamed = self.compaction.swap_in("p", self.cleaned(0, 2))
        assert renamed is not None
        self.assertEqual((self.bases(), self.local.size_bytes), ([0, 4], 2 * ONE))
        self.assertTrue(renamed and all(os.path.exists(path) for path in renamed))
        self.assertEqual(self.local.segments[0].next_offset(), 4)
        self.compaction.end_pass("p", 4)
        self.assertEqual(self.local.first_dirty_offset, 4)

    def test_cancelled(self) -> None:
        """A result of a pass that was cancelled, or of another one, changes nothing."""
        cleaned = self.cleaned(0, 2)
        self.assertIsNone(self.compaction.swap_in("p", cleaned))
        self.compaction.begin_pass("p")
        self.compaction.cancel()
        self.assertIsNone(self.compaction.swap_in("p", cleaned))
        self.compaction.end_pass("p", 4)
        self.assertEqual((self.bases(), self.local.first_dirty_offset), ([0, 2, 4], 0))

    def test_segments_have_changed(self) -> None:
        """A result for segments that are gone, or for the active one, ends the pass."""
        for replaces in ((0, 1), (2, 4)):
            self.compaction.begin_pass("p")
            self.assertIsNone(self.compaction.swap_in("p", self.cleaned(*replaces)))
            self.compaction.end_pass("p", 4)
            self.assertEqual((self.bases(), self.local.first_dirty_offset), ([0, 2, 4], 0))

    def test_failed(self) -> None:
        """A pass that has failed leaves the log as dirty as it was."""
        self.compaction.begin_pass("p")
        self.compaction.end_pass("p", None)
        self.assertEqual(self.local.first_dirty_offset, 0)

    def test_disk(self) -> None:
        """A rename that fails is reported; new files that are gone are not the disk's fault."""
        cleaned = self.cleaned(0, 2)
        self.compaction.begin_pass("p")

        def fail(old: str, new: str) -> None:
            raise OSError(errno.EIO, "broken")

        patched = self.patch(self.files, "rename", fail)
        self.assertRaises(OSError, self.compaction.swap_in, "p", cleaned)
        self.assertEqual(self.told, [f"compacting {TP}"])
        patched.restore()
        for name in os.listdir(self.directory):
            if name.endswith(suffix_of("p")):
                os.unlink(os.path.join(self.directory, name))
        self.assertRaises(FileNotFoundError, self.compaction.swap_in, "p", cleaned)
        self.assertEqual(self.told, [f"compacting {TP}"])
