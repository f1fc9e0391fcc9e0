"""The names of deleted partitions are synced together."""

from __future__ import annotations

import uuid
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.store import renames
from kafkatx.testing.contracts.partition_log import StoreCase
from kafkatx.types import TopicPartition
from tests.log.fakes import QuickFiles, file_store

COUNT = 5


class CountingFiles(QuickFiles):
    """Counts the syncs of each directory, and can fail them."""

    def __init__(self) -> None:
        self.synced: list[str] = []
        self.error: OSError | None = None

    def sync_dir(self, path: str) -> None:
        """Count."""
        if self.error is not None:
            raise self.error
        self.synced.append(path)


class RenamesTests(StoreCase, SynchronousTestCase):
    def make_store(self) -> Any:
        """Return a store whose worker works when it is told to."""
        self.path = self.mktemp()
        self.files = CountingFiles()
        return file_store(self.clock, self.path, files=self.files)

    def setUp(self) -> None:
        """Make some logs."""
        super().setUp()
        self.store = self.opened()
        self.names = [TopicPartition("t", number) for number in range(COUNT)]
        for name in self.names:
            self.result(self.store.create(name, uuid.uuid4(), LogConfig()))
        self.files.synced.clear()

    def deletions(self) -> list[Deferred[None]]:
        """Delete all logs, while the store makes another change."""
        lock = self.store._changing
        self.result(lock.acquire())
        deleting = [self.store.delete(name) for name in self.names]
        lock.release()
        return deleting

    def test_together(self) -> None:
        """The names of logs that are deleted at the same time are synced once."""
        for deleting in self.deletions():
            self.result(deleting)
        (log_dir,) = self.store.dirs
        self.assertEqual(self.files.synced, [log_dir.path])

    def test_many(self) -> None:
        """Some wait for a sync, no more of them."""
        self.patch(renames, "MOST_RENAMES", 2)
        for deleting in self.deletions():
            self.result(deleting)
        self.assertEqual(len(self.files.synced), 3)

    def test_fails(self) -> None:
        """All deletions whose names could not be synced fail."""
        self.files.error = OSError(5, "broken")
        for deleting in self.deletions():
            self.failureResultOf(deleting, OSError)
