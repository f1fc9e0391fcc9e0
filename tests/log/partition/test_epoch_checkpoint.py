"""Tests of kafkatx.log.partition.epoch_checkpoint: the file follows the cache."""

from __future__ import annotations

import errno
import os

from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.checkpoint import decode_epochs
from kafkatx.log.files import Files
from kafkatx.log.leader_epochs import LeaderEpochCache
from kafkatx.log.partition.epoch_checkpoint import EpochCheckpoint
from kafkatx.log.partition.location import LogLocation
from kafkatx.testing.contracts.partition_log import TP


class FullFiles(Files):
    """The real file system, until replacing a file fails."""

    error: OSError | None = None

    def replace(self, path: str, data: bytes, sync: bool = True) -> None:
        """Replace, or fail."""
        if self.error is not None:
            raise self.error
        super().replace(path, data, sync)


class EpochCheckpointTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a checkpoint with three epochs."""
        self.files = FullFiles()
        directory = self.mktemp()
        os.makedirs(directory)
        self.epochs = EpochCheckpoint(
            LogLocation(TP, directory, self.files, execute), LeaderEpochCache(), False
        )
        self.epochs.assign([(1, 0), (2, 10), (4, 20)])

    def written(self) -> list[tuple[int, int]]:
        """The entries in the file."""
        with open(self.epochs.path, "rb") as file:
            return decode_epochs(file.read())

    def test_assign(self) -> None:
        """New epochs are in the file, which must be synced."""
        self.assertEqual(self.written(), [(1, 0), (2, 10), (4, 20)])
        self.assertTrue(self.epochs.unsynced)

    def test_restore(self) -> None:
        """After a failed write the cache is as it was before."""
        entries = list(self.epochs.cache.entries)
        self.files.error = OSError(errno.ENOSPC, "full")
        self.assertRaises(OSError, self.epochs.assign, [(5, 30)])
        self.epochs.restore(entries)
        self.assertEqual(self.epochs.cache.latest, 4)

    def test_cut_end(self) -> None:
        """A truncation forgets later epochs in cache and file."""
        self.epochs.cut_end(15)
        self.assertEqual(self.written(), self.epochs.cache.entries)
        self.assertEqual(self.written(), [(1, 0), (2, 10)])

    def test_cut_start(self) -> None:
        """The file is written only if the log start passes an epoch."""
        self.epochs.cut_start(12)
        self.assertEqual(self.written(), [(2, 12), (4, 20)])
        self.epochs.unsynced = False
        self.epochs.cut_start(12)
        self.assertFalse(self.epochs.unsynced)

    def test_cut_start_on_a_full_disk(self) -> None:
        """A full disk does not stop retention; a broken one does."""
        self.files.error = OSError(errno.ENOSPC, "full")
        self.epochs.cut_start(12)
        self.assertEqual(self.epochs.cache.entries, [(2, 12), (4, 20)])
        self.files.error = OSError(errno.EIO, "broken")
        self.assertRaises(OSError, self.epochs.cut_start, 25)
