"""Shared by the tests of moves: a store with two dirs, one log, and copying step by step."""

from __future__ import annotations

import os
import re
import uuid

from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.interfaces import Worker
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.testing.contracts.partition_log import StoreCase, batch, find_retention
from kafkatx.types import SharedFile, TopicPartition
from tests.broker.running import Held
from tests.log.fakes import Settings, crash
from tests.log.store.test_log_dir import BadFiles

T0 = TopicPartition("t", 0)
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100, file_delete_delay_ms=1000, retention_ms=-1)


class MovingFiles(BadFiles):
    """Files that may fail, and that record which paths were synced."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: list[str] = []

    def sync(self, file: SharedFile) -> None:
        """Record the path, or fail."""
        super().sync(file)
        self.synced.append(file.path)

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Read or fail."""
        self._check("read", file.path)
        return super().pread(file, size, position)


class MoverCase(StoreCase, SynchronousTestCase):
    """A store with two dirs, and one log that is in the first. What copies works when the test says so."""

    def setUp(self) -> None:
        """Make the store and the log."""
        super().setUp()
        self.dirs = [os.path.abspath(self.mktemp()) for _ in range(2)]
        self.files = MovingFiles()
        self.copying = Held()
        self.numbers = iter(range(1_000_000))
        self.written: list[bytes] = []
        self.store = self.reopened()
        self.topic_id = uuid.uuid4()
        self.log = self.result(self.store.create(T0, self.topic_id, SMALL))
        self.assertEqual(self.place(), self.dirs[0])

    def make_store(self) -> FileLogStore:
        """Return a store in the two dirs."""

        def workers(name: str) -> Worker:
            return self.copying(name) if name == "relocation" else execute

        return FileLogStore(Settings(*self.dirs), workers, self.clock, find_retention, self.files)

    def reopened(self) -> FileLogStore:
        """Return a store that is open."""
        self.copying.holding = False
        store = self.make_store()
        self.result(store.open(lambda topic: SMALL))
        self.copying.holding = True
        self.addCleanup(crash, store)
        return store

    def restart(self) -> None:
        """Crash and start again."""
        crash(self.store)
        self.store = self.reopened()
        self.log = self.store.logs[T0]

    def place(self) -> str:
        """Return the dir that the log is in, by the store."""
        (found,) = (place.path for place in self.store.dirs if T0 in place.logs)
        return found

    def write(self, count: int = 1) -> None:
        """Append some batches of two records."""
        for _ in range(count):
            values = [b"%d" % next(self.numbers) for _ in range(2)]
            self.put(self.log, batch(values))
            self.written += values

    def move(self, to: int = 1) -> None:
        """Begin to move the log."""
        self.store.relocate(T0, self.dirs[to])

    def finish(self, steps: int = 10_000) -> None:
        """Finish the copying."""
        self.copying.work(steps)

    def check_content(self) -> None:
        """Check that the log has all written records at their offsets, and reports the same sizes."""
        start = self.log.log_start_offset
        self.assertEqual(self.log.log_end_offset, len(self.written))
        self.assertEqual(self.content(self.log), list(enumerate(self.written))[start:])
        for offset in range(start, len(self.written), 5):
            self.assertEqual(self.content(self.log, offset)[0], (offset, self.written[offset]))
        self.assertEqual(self.log.size_bytes, sum(segment.size for segment in self.log.segments))

    def listed(self, number: int) -> list[str]:
        """Return the directories in a log dir, ids left out."""
        path = self.dirs[number]
        names = [name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name))]
        return sorted(re.sub(r"\.[0-9a-f]{32}", "", name) for name in names)
