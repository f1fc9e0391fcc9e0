"""Tests of kafkatx.log.segment.files: names, creation, renaming and removal of a segment's files."""

from __future__ import annotations

import errno
import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Files
from kafkatx.log.segment.descriptors import Descriptors
from kafkatx.log.segment.files import SNAPSHOT, SegmentFiles, file_name
from kafkatx.types import SharedFile


class RefusingFiles(Files):
    """The real file system, in which one kind of file cannot be made."""

    refused = ""

    def create(self, path: str) -> SharedFile:
        """Make a file, or fail."""
        if self.refused and path.endswith(self.refused):
            raise OSError(errno.ENOSPC, "full", path)
        return super().create(path)


class SegmentFilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the files of a segment that begins at 42."""
        self.directory = self.mktemp()
        os.makedirs(self.directory)
        self.files = RefusingFiles()
        self.segment = SegmentFiles(self.files, self.directory, 42)
        self.segment.make()

    def names(self) -> list[str]:
        """The names in the directory."""
        return sorted(os.listdir(self.directory))

    def test_names(self) -> None:
        """Names are the base offset in 20 digits."""
        self.assertEqual(file_name(42, ".log"), "00000000000000000042.log")
        self.assertEqual(self.names(), [file_name(42, one) for one in (".index", ".log", ".timeindex")])

    def test_all_or_none(self) -> None:
        """No file is left if one cannot be made."""
        self.segment.remove()
        for refused in (".log", ".index", ".timeindex"):
            self.files.refused = refused
            self.assertRaises(OSError, SegmentFiles(self.files, self.directory, 42).make)
            self.assertEqual(self.names(), [])

    def test_put_aside(self) -> None:
        """All files are renamed."""
        for suffix in (SNAPSHOT, ".txnindex"):
            open(self.segment.path(suffix), "wb").close()
        renamed = self.segment.put_aside()
        self.assertEqual(len(renamed), 5)
        self.assertEqual(sorted(map(os.path.basename, renamed)), self.names())

    def test_removal_order(self) -> None:
        """The indexes go before the log: an index alone tells that a log was lost."""
        removed: list[str] = []
        self.patch(self.files, "unlink", lambda path: removed.append(os.path.splitext(path)[1]))
        self.segment.remove()
        self.assertLess(removed.index(".index"), removed.index(".log"))
        self.assertEqual(removed[-1], ".log")

    def test_to_sync(self) -> None:
        """Each file is given once, by its path where it is not open."""
        found = self.segment.to_sync()
        self.assertEqual(len(found), 3)
        self.assertIn(self.segment.path(".log"), found)
        self.assertEqual(self.segment.to_sync(), [])
        self.segment.unsynced = True
        self.assertEqual(self.segment.to_sync(), [self.segment.path(".log")])

    def test_descriptors(self) -> None:
        """Opening and closing is told to the limit of open files, once each."""
        self.segment.descriptors = Descriptors(5)
        self.assertIs(self.segment.file, self.segment.file)
        self.assertEqual(len(self.segment.descriptors), 1)
        self.segment.release()
        self.assertEqual(len(self.segment.descriptors), 0)

    def test_share(self) -> None:
        """The file that a worker has opened is used."""
        twin = SegmentFiles(self.files, self.directory, 42)
        opened = twin.file
        self.segment.share(twin)
        self.assertIs(self.segment.file, opened)
