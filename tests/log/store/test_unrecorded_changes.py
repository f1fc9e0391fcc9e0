"""Tests of kafkatx.log.store.unrecorded_changes: what the cluster's state is told of directories."""

from __future__ import annotations

import errno
import os
import uuid
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.log_dirs import DirectoryChanges
from kafkatx.log.store.log_dir import LogDir
from kafkatx.log.store.log_dir_files import LogDirFiles
from kafkatx.log.store.ownership import Found
from kafkatx.log.store.unrecorded_changes import UnrecordedChanges
from kafkatx.types import LogDirRecord, Placement, TopicPartition
from tests.log.fakes import QuickFiles
from tests.log.store.test_ownership import IDS, T0, T1, state, survey


class SyncingFiles(QuickFiles):
    """Files whose directories may fail to sync."""

    fail = False

    def sync_dir(self, path: str) -> None:
        """Nothing, or fail."""
        if self.fail:
            raise OSError(errno.EIO, "broken", path)


class UnrecordedChangesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log dir whose id is "d", and no change."""
        self.files = SyncingFiles()
        made = LogDirFiles(self.files, os.path.abspath(self.mktemp()), 1)
        made.directory_id = "d"
        self.log_dir = LogDir(made, execute, Clock(), lambda log_dir: None)
        self.changes = UnrecordedChanges()

    def settle(self) -> DirectoryChanges:
        """The changes since the last call."""
        settling: Deferred[DirectoryChanges] = Deferred.fromCoroutine(self.changes.settle([self.log_dir]))
        return self.successResultOf(settling)

    def open(self, *found: Found, **recorded: Any) -> None:
        """Open a store with these directories, whose partitions are all known."""
        expected = state(
            {one.topic_partition: one.topic_id for one in found}, recorded=LogDirRecord(**recorded)
        )
        for one in found:
            self.add(one.topic_partition)
        self.changes.opened([(self.log_dir, survey(*found))], expected)

    def add(self, name: TopicPartition) -> None:
        """Add a log to the log dir; nothing of it is used."""
        logs: Any = self.log_dir.logs
        logs[name] = object()

    def test_nothing(self) -> None:
        """Without a change there is nothing to record."""
        self.assertFalse(self.settle())

    def test_found(self) -> None:
        """A directory that is on record elsewhere, or not at all, is recorded where it was found."""
        self.open(Found(T0, IDS[0]), Found(T1, IDS[0]), placed={IDS[0]: {0: "d", 1: "other"}})
        self.assertEqual(self.settle().placed, (Placement(IDS[0], 1, "d"),))
        self.assertFalse(self.settle())

    def test_made(self) -> None:
        """A new directory is recorded once its name is synced; one that is gone by then is not."""
        self.changes.made(self.log_dir, Found(T0, IDS[0]))
        self.changes.made(self.log_dir, Found(T1, IDS[1]))
        self.add(T0)
        self.assertEqual(self.settle().placed, (Placement(IDS[0], 0, "d"),))

    def test_not_synced(self) -> None:
        """A sync that fails takes the dir offline, and its new directories are not recorded."""
        self.changes.made(self.log_dir, Found(T0, IDS[0]))
        self.add(T0)
        self.patch(self.log_dir, "take_offline", lambda error, doing: setattr(self.log_dir, "error", error))
        self.files.fail = True
        self.failureResultOf(Deferred.fromCoroutine(self.changes.settle([self.log_dir])), OSError)
        self.files.fail = False
        self.assertEqual(self.settle().placed, ())

    def test_deleted(self) -> None:
        """A topic is gone when the directories of all its partitions are."""
        for _ in range(2):
            self.changes.deleting(IDS[0])
        self.changes.removed(IDS[0])
        self.assertEqual((self.settle().gone, self.changes.deleted), ((), {IDS[0]}))
        self.changes.removed(IDS[0])
        self.assertEqual((self.settle().gone, self.changes.deleted), ((IDS[0],), set[uuid.UUID]()))

    def test_deleted_before(self) -> None:
        """Topics that were deleted before the start are gone, unless a log dir is missing."""
        self.open(deleted=frozenset([IDS[0]]), log_dirs={"d": "/d"})
        self.assertEqual(self.settle().gone, (IDS[0],))
        self.changes = UnrecordedChanges()
        self.open(deleted=frozenset([IDS[0]]), log_dirs={"d": "/d", "e": "/e"})
        self.assertEqual((self.settle().gone, self.changes.deleted), ((), {IDS[0]}))

    def test_offline(self) -> None:
        """While a dir is offline no topic is said to be gone: it may hold its directories."""
        self.changes.deleting(IDS[0])
        self.changes.removed(IDS[0])
        self.log_dir.error = OSError(errno.EIO, "broken")
        self.assertEqual(self.settle().gone, ())
        self.log_dir.error = None
        self.assertEqual(self.settle().gone, (IDS[0],))
