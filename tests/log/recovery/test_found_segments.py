"""Tests of kafkatx.log.recovery.found_segments: which files of a directory are segments."""

from __future__ import annotations

import os

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import PartitionUnavailable
from kafkatx.log.files import Files
from kafkatx.log.recovery.found_segments import find_segments
from tests.log.segments import make_segment, stored


class FindSegmentsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of three segments."""
        self.directory = self.mktemp()
        for offset in (0, 3, 6):
            make_segment(self.directory, stored([b"x"] * 3, offset), base_offset=offset)

    def found(self, sparse_below: int = 0, recovery_point: int = 9) -> list[int]:
        """The base offsets that are found."""
        segments = find_segments(Files(), self.directory, sparse_below, recovery_point)
        self.assertEqual({segment.sparse_below for segment in segments} or {sparse_below}, {sparse_below})
        return [segment.base_offset for segment in segments]

    def path(self, name: str) -> str:
        """The path of a file of the log."""
        return os.path.join(self.directory, name)

    def make(self, name: str, data: bytes = b"") -> str:
        """Make a file."""
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def test_found(self) -> None:
        """Segments are found in the order of their offsets."""
        self.assertEqual(self.found(), [0, 3, 6])

    def test_leftovers(self) -> None:
        """Files that wait for their deletion, and half-written ones, are removed."""
        left = [self.make(f"{0:020d}.log.deleted"), self.make("leader-epoch-checkpoint.tmp")]
        self.found()
        self.assertEqual([path for path in left if os.path.exists(path)], [])

    def test_ignored(self) -> None:
        """Names and kinds of files that no segment can have are ignored with a warning."""
        self.make("9" * 20 + ".log", b"x")
        os.mkdir(self.path(f"{4:020d}.log"))
        self.make("notes.log")
        with capturedLogs() as events:
            self.assertEqual(self.found(), [0, 3, 6])
        self.assertEqual(len(events), 2)

    def test_empty(self) -> None:
        """An empty segment is ignored unless it is the last one, or compaction may have emptied it."""
        self.make(f"{5:020d}.log")
        self.make(f"{9:020d}.log")
        self.assertEqual(self.found(), [0, 3, 6, 9])
        self.assertEqual(self.found(sparse_below=9), [0, 3, 5, 6, 9])

    def test_missing(self) -> None:
        """An index without its log tells that a segment is missing; one before the first does not."""
        os.unlink(self.path(f"{3:020d}.log"))
        error = self.assertRaises(PartitionUnavailable, self.found)
        self.assertIn(f"{3:020d}.log is missing", str(error))
        for suffix in (".index", ".timeindex"):
            os.unlink(self.path(f"{3:020d}{suffix}"))
        os.unlink(self.path(f"{0:020d}.log"))
        self.assertEqual(self.found(), [6])

    def test_none(self) -> None:
        """A log that had offsets and has no segment is unavailable; a new one is empty."""
        for name in os.listdir(self.directory):
            os.unlink(self.path(name))
        error = self.assertRaises(PartitionUnavailable, self.found)
        self.assertIn("kafkatx log repair", str(error))
        self.assertEqual(self.found(recovery_point=0), [])
