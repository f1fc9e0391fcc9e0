"""Paths of log dirs, partitions and segments; locks of log dirs."""

from __future__ import annotations

import os
import shutil

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.inspect.paths import (
    Kind,
    LogDirInUse,
    NotALog,
    base_offset_of,
    base_offsets,
    kind_of,
    lock_owner,
    locked,
    log_dir_of,
    partition_of,
    partitions,
    paths_of_brokers,
    segment_path,
)
from kafkatx.testing.contracts.partition_log import TP
from kafkatx.types import TopicPartition
from tests.log.inspect.shared import FIRST, LAST, LogCase


class NameTests(SynchronousTestCase):
    def test_partition(self) -> None:
        """The last dash separates topic and number, which has no leading zeros."""
        self.assertEqual(partition_of("/d/a-b-12"), TopicPartition("a-b", 12))
        for name in ("a", "a-", "a-01", "a-1.delete", "-1"):
            self.assertIsNone(partition_of(f"/d/{name}"), name)

    def test_segment(self) -> None:
        """Names of segments' files have 20 digits."""
        path = segment_path("/d/t-0", 16, "log")
        self.assertEqual((os.path.basename(path), base_offset_of(path)), (LAST, 16))
        self.assertEqual(base_offset_of("/d/t-0/leader-epoch-checkpoint"), 0)


class PathTests(LogCase):
    def test_kinds(self) -> None:
        """A path's kind is that of its name, or of what a directory contains."""
        self.fill()
        self.assertEqual(kind_of(self.path), Kind.LOG_DIR)
        self.assertEqual(kind_of(self.directory), Kind.PARTITION)
        self.assertEqual(kind_of(self.file(FIRST)), Kind.LOG)

    def test_not_a_log(self) -> None:
        """An empty directory and other files are no part of a log."""
        path = self.mktemp()
        os.mkdir(path)
        self.assertRaises(NotALog, kind_of, path)
        other = os.path.join(path, "notes.txt")
        with open(other, "w"):
            self.assertRaises(NotALog, kind_of, other)

    def test_contents(self) -> None:
        """Partitions of a log dir and segments of a partition are found, in order."""
        self.fill()
        self.assertEqual([partition_of(path) for path in partitions(self.path)], [TP])
        self.assertEqual(base_offsets(self.directory, "log"), [0, 8, 16])

    def test_log_dir_of(self) -> None:
        """The log dir of a partition and of a file are the same."""
        self.fill()
        for path in (self.path, self.directory, self.file(FIRST)):
            self.assertEqual(log_dir_of(path, kind_of(path)), self.path)


class BrokersTests(LogCase):
    def test_several(self) -> None:
        """The data directory of several brokers stands for their log dirs; it may be one of them itself."""
        self.fill()
        data = os.path.abspath(self.mktemp())
        for name in ("2", "10", "7", "other"):
            shutil.copytree(self.path, os.path.join(data, name))
        os.unlink(os.path.join(data, "7", "meta.properties"))
        folders = [os.path.join(data, "2"), os.path.join(data, "10")]
        self.assertEqual(paths_of_brokers(data), folders)
        shutil.copytree(self.path, data, dirs_exist_ok=True)
        self.assertEqual(paths_of_brokers(data), [data, *folders])

    def test_itself(self) -> None:
        """Any other path stands for itself."""
        self.fill()
        for path in (self.path, self.directory, self.file(FIRST)):
            self.assertEqual(paths_of_brokers(path), [path])


class LockTests(LogCase):
    def test_free(self) -> None:
        """A log dir whose broker has ended is free."""
        self.fill()
        self.assertIsNone(lock_owner(self.path))

    def test_locked(self) -> None:
        """A locked log dir has an owner and cannot be locked again; afterwards it is free."""
        self.fill()
        with locked(self.path):
            self.assertIsNotNone(lock_owner(self.path))
            self.assertRaises(LogDirInUse, locked(self.path).__enter__)
        self.assertIsNone(lock_owner(self.path))

    def test_never_used(self) -> None:
        """A directory without a lock file is free, and gets none."""
        path = self.mktemp()
        os.mkdir(path)
        with locked(path):
            self.assertIsNone(lock_owner(path))
        self.assertEqual(os.listdir(path), [])
