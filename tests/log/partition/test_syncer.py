"""Tests of kafkatx.log.partition.syncer: the number and order of syncs, and the effect of their failures."""

from __future__ import annotations

import errno
import os
import uuid
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.faults import PASSING, SyncFailed, is_lasting
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, StoreCase, batch, find_retention
from tests.log.fakes import FailingFiles, Settings, crash

DATA = "00000000000000000000.log"


class SyncCase(StoreCase, SynchronousTestCase):
    """A log whose worker works when the test says so, and files that count and fail."""

    def setUp(self) -> None:
        """Make a log."""
        super().setUp()
        self.path = self.mktemp()
        self.files = FailingFiles()
        self.held = False
        self.waiting: list[tuple[Any, Deferred[Any]]] = []
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: LogConfig()))
        self.addCleanup(crash, self.store)
        self.log = self.result(self.store.create(TP, uuid.uuid4(), LogConfig()))
        self.held = True
        self.files.synced.clear()

    def make_store(self) -> Any:
        """Return a store with that worker."""
        return FileLogStore(
            Settings(self.path), lambda name: self.run_later, self.clock, find_retention, self.files
        )

    def run_later(self, function: Any) -> Deferred[Any]:
        """Keep the work until the test runs it."""
        if not self.held:
            return execute(function)
        done: Deferred[Any] = Deferred()
        self.waiting.append((function, done))
        return done

    def work(self, steps: int = 1000) -> None:
        """Do up to *steps* pieces of work."""
        while self.waiting and steps:
            steps -= 1
            function, done = self.waiting.pop(0)
            execute(function).chainDeferred(done)

    def data_syncs(self) -> int:
        """Return the number of syncs of the records."""
        return self.files.synced.count(DATA)


class GroupCommitTests(SyncCase):
    def test_shared(self) -> None:
        """A hundred writes and flushes during a sync share the next one: two syncs for all."""
        self.put(self.log, batch([b"first"]))
        flushes = [self.log.flush()]
        for number in range(100):
            self.put(self.log, batch([b"%d" % number]))
            flushes.append(self.log.flush())
        self.work(1)
        self.assertEqual((self.result(flushes[0]), self.log.flushed_offset), (1, 1))
        for waiting in flushes[1:]:
            self.assertNoResult(waiting)
        self.work()
        self.assertEqual({self.result(waiting) for waiting in flushes[1:]}, {101})
        self.assertEqual(self.data_syncs(), 2)

    def test_nothing_new(self) -> None:
        """A flush of records that are being synced waits for that sync; none is synced twice."""
        self.put(self.log, batch([b"a"]))
        both = [self.log.flush(), self.log.flush()]
        self.work()
        self.assertEqual([self.result(waiting) for waiting in both], [1, 1])
        self.assertEqual(self.result(self.log.flush()), 1)
        self.assertEqual(self.data_syncs(), 1)

    def test_after_a_cut(self) -> None:
        """A sync in progress does not count for a log that was truncated and has grown to the same length."""
        self.put(self.log, batch([b"a"]), batch([b"b"]))
        first = self.log.flush()
        self.log.truncate_to(1)
        self.put(self.log, batch([b"c"]))
        second = self.log.flush()
        self.work(1)
        self.result(first)
        self.assertNoResult(second)
        self.work()
        self.assertEqual((self.result(second), self.log.flushed_offset), (2, 2))

    def test_on_flushed(self) -> None:
        """The log's owner is called when the flushed offset has moved, and only then."""
        told: list[int] = []
        self.log.on_flushed = lambda: told.append(self.log.flushed_offset)
        self.put(self.log, batch([b"a"]))
        self.log.flush()
        self.assertEqual(told, [])
        self.work()
        self.log.flush()
        self.work()
        self.assertEqual(told, [1])

    def test_rolled(self) -> None:
        """Closed segments are flushed without a request, with everything that was written with them."""
        self.log.configure(LogConfig(segment_bytes=100))
        self.put(self.log, *[batch([b"%d" % n * 50]) for n in range(3)])
        self.work()
        self.assertEqual(self.log.flushed_offset, 3)

    def test_names(self) -> None:
        """A new log's directory is synced with its first records, and the one it is in."""
        synced: list[str] = []
        self.patch(self.files, "sync_dir", synced.append)
        self.put(self.log, batch([b"a"]))
        self.log.flush()
        self.work()
        self.assertLessEqual({os.path.abspath(self.path), self.log.directory}, set(synced))


class FailureTests(SyncCase):
    def test_never_again(self) -> None:
        """A failed sync is not repeated: later flushes fail too, and nothing counts as flushed."""
        self.put(self.log, batch([b"a"]))
        self.files.fail_sync = True
        waiting = [self.log.flush()]
        self.put(self.log, batch([b"b"]))
        waiting.append(self.log.flush())
        self.work(1)
        self.files.fail_sync = False
        self.work()
        waiting.append(self.log.flush())
        self.work()
        for one in waiting:
            self.failureResultOf(one, OSError)
        self.assertEqual((self.log.flushed_offset, self.files.synced), (0, []))

    def test_reported(self) -> None:
        """A failure is reported with the action; a failed sync as SyncFailed."""
        told: list[tuple[type, str]] = []
        self.log._location._on_failure = lambda error, doing: told.append((type(error), doing))
        self.put(self.log, batch([b"a"]))
        self.files.fail_sync = True
        self.failureResultOf(self._worked(self.log.flush()), SyncFailed)
        self.files.bytes_left = 0
        self.log.append(batch([b"b"]), 0, NOW_MS, True)
        self.assertRaises(OSError, self.log.write)
        self.assertEqual(told, [(SyncFailed, f"flushing {TP}"), (OSError, f"writing to {TP}")])

    def _worked(self, waiting: Any) -> Any:
        self.work()
        return waiting

    def test_no_descriptors(self) -> None:
        """Nothing is lost if no file can be opened: the next flush syncs the same files."""
        self.put(self.log, batch([b"a"]))
        error = OSError(errno.EMFILE, "too many open files")

        def fail(path: str) -> None:
            raise error

        patched = self.patch(self.files, "sync_dir", fail)
        self.failureResultOf(self._worked(self.log.flush()), OSError)
        self.assertIsNone(self.store.dirs[0].error)
        patched.restore()
        before = self.data_syncs()
        self.assertEqual(self.result(self._worked(self.log.flush())), 1)
        self.assertEqual(self.data_syncs(), before + 1)

    def test_deleted(self) -> None:
        """A log that is deleted during a flush does not report a failure of the disk."""
        self.put(self.log, batch([b"a"]))
        first = self.log.flush()
        self.put(self.log, batch([b"b"]))
        second = self.log.flush()
        deleting = self.store.delete(TP)
        self.work()
        self.result(deleting)
        for waiting in (first, second):
            waiting.addErrback(lambda failure: failure.trap(OSError))
            self.result(waiting)
        self.assertIsNone(self.store.dirs[0].error)

    def test_after_kill(self) -> None:
        """The first flush syncs what a killed process may have left: records, epochs and names."""
        self.put(self.log, batch([b"a"]))
        crash(self.store)
        self.held = False
        store = self.make_store()
        self.result(store.open(lambda topic: LogConfig()))
        self.addCleanup(crash, store)
        synced: list[str] = []
        self.patch(self.files, "sync_dir", synced.append)
        self.files.synced.clear()
        self.assertEqual(self.result(store.logs[TP].flush()), 1)
        self.assertLessEqual({DATA, "leader-epoch-checkpoint"}, set(self.files.synced))
        self.assertIn(store.logs[TP].directory, synced)


class FaultsTests(SynchronousTestCase):
    def test_lasting(self) -> None:
        """A full disk and a process at its limits pass; a sync that fails does not, whatever the reason."""
        for number in (errno.EIO, errno.EROFS, errno.ENODEV, errno.ENOENT, errno.EACCES):
            self.assertTrue(is_lasting(OSError(number, "")), number)
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EAGAIN):
            self.assertFalse(is_lasting(OSError(number, "")), number)
        for number in PASSING:
            self.assertTrue(is_lasting(SyncFailed(number, "")), number)
