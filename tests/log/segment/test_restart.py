"""Tests of kafkatx.log.segment.restart; a crash at each step is in ``tests.log.recovery.test_followers``."""

from __future__ import annotations

import os

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Files
from kafkatx.log.segment import restart
from tests.log.segments import make_segment, stored


class RestartTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a directory with a segment, a snapshot and other files."""
        self.files, self.directory = Files(), self.mktemp()
        make_segment(self.directory, stored([b"x"], 3), base_offset=3)
        for name in (f"{3:020d}.snapshot", "leader-epoch-checkpoint", "partition.metadata"):
            self.files.create(os.path.join(self.directory, name))

    def names(self) -> list[str]:
        """Return the names in the directory, without leading zeros."""
        return sorted(name.lstrip("0") for name in self.files.names(self.directory))

    def recover(self) -> int | None:
        """Recover the directory."""
        with capturedLogs() as events:
            found = restart.recover(self.files, self.directory, self.files.names(self.directory))
        self.assertEqual(len(events), found is not None)
        return found

    def test_no_mark(self) -> None:
        """Without a mark nothing is removed, nor after a restart that came to its end."""
        before = self.names()
        self.assertIsNone(self.recover())
        restart.begin(self.files, self.directory, 70)
        restart.end(self.files, self.directory, 70)
        self.assertIsNone(self.recover())
        self.assertEqual(self.names(), before)

    def test_mark(self) -> None:
        """With a mark all files of segments go, and the mark stays until the new segment is made."""
        restart.begin(self.files, self.directory, 70)
        self.assertEqual(self.recover(), 70)
        self.assertEqual(self.recover(), 70)
        left = ["leader-epoch-checkpoint", "partition.metadata", f"restart.{70:020d}"]
        self.assertEqual(self.names(), left)

    def test_two_marks(self) -> None:
        """The higher one of two marks counts, if the first could not be removed."""
        restart.begin(self.files, self.directory, 70)
        restart.begin(self.files, self.directory, 80)
        self.assertEqual(self.recover(), 80)
        restart.end(self.files, self.directory, 80)
        self.assertIsNone(self.recover())

    def test_snapshots(self) -> None:
        """Snapshots of producers are removed by name, nothing else."""
        restart.remove_snapshots(self.files, self.directory)
        names = ["3.index", "3.log", "3.timeindex", "leader-epoch-checkpoint", "partition.metadata"]
        self.assertEqual(self.names(), names)
