"""Tests of kafkatx.log.store.lifecycle: what a store does with all of its log dirs."""

from __future__ import annotations

import errno
import os
import uuid
from collections import Counter
from typing import Any

from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError, StateLost
from kafkatx.log.checkpoint import LOG_STARTS, decode_generation, decode_offsets
from kafkatx.log.store import lifecycle
from kafkatx.log.store.lifecycle import check_any_online, saving, settle_all, survey_all, unless_failing
from kafkatx.log.store.log_dir import LogDir
from kafkatx.log.store.log_dir_files import LogDirFiles
from kafkatx.testing.contracts.partition_log import TP, StoreCase, batch
from kafkatx.types import TopicPartition
from tests.log.fakes import QuickFiles, file_store
from tests.log.store.test_ownership import state


class LifecycleTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two log dirs, locked."""
        self.offline: list[LogDir] = []
        self.log_dirs = [self.log_dir(), self.log_dir()]

    def log_dir(self) -> LogDir:
        """A log dir that is locked."""
        files = LogDirFiles(QuickFiles(), os.path.abspath(self.mktemp()), 1)
        files.lock()
        self.addCleanup(files.unlock)
        return LogDir(files, execute, Clock(), self.offline.append)

    def run_now(self, work: Any) -> Any:
        """The result of a coroutine."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def test_unless_failing(self) -> None:
        """A dir that fails to open goes offline; a bug is no failure of the disk."""
        failing: Deferred[None] = execute(self.fail_with, OSError(errno.EIO, "broken"))
        self.successResultOf(unless_failing(self.log_dirs[0], failing))
        self.assertEqual(self.offline, [self.log_dirs[0]])
        bug: Deferred[None] = execute(self.fail_with, ValueError("bug"))
        self.failureResultOf(unless_failing(self.log_dirs[1], bug), ValueError)
        self.assertEqual(self.offline, [self.log_dirs[0]])

    def fail_with(self, error: Exception) -> None:
        """Fail."""
        raise error

    def test_any_online(self) -> None:
        """One dir is enough; without any the first is named with its error."""
        first, second = self.log_dirs
        first.error = OSError(errno.EROFS, "read-only")
        check_any_online(self.log_dirs)
        second.error = OSError(errno.EIO, "broken")
        error = self.assertRaises(SettingError, check_any_online, self.log_dirs)
        self.assertIn(f"log.dirs={first.path}: read-only", str(error))

    def test_survey(self) -> None:
        """Dirs get the cluster's id and generation, and each an id of its own."""
        self.run_now(survey_all(self.log_dirs, state({})))
        ids = {log_dir.directory_id for log_dir in self.log_dirs}
        self.assertEqual((len(ids), "" in ids), (2, False))
        for log_dir in self.log_dirs:
            with open(os.path.join(log_dir.path, "kafkatx-generation"), "rb") as file:
                self.assertEqual(decode_generation(file.read()), 5)

    def test_noted(self) -> None:
        """A state that heals does not lower what was noted, before it is healed; one to start anew does."""
        for generation, others, noted in (
            (9, {}, 9),
            (5, {"heals": True}, 9),
            (5, {"heals": True, "anew": True}, 5),
        ):
            expected = state({}, generation=lambda now=generation: now, **others)
            self.run_now(survey_all(self.log_dirs, expected))
            for log_dir in self.log_dirs:
                with open(os.path.join(log_dir.path, "kafkatx-generation"), "rb") as file:
                    self.assertEqual(decode_generation(file.read()), noted)

    def test_survey_refused(self) -> None:
        """Dirs of another cluster are refused, and nothing is written to any."""
        with open(os.path.join(self.log_dirs[1].path, "meta.properties"), "w", encoding="ascii") as file:
            file.write("cluster.id=x\n")
        self.log_dirs[1].files.unlock()
        self.log_dirs[1].files.lock()
        refused = Deferred.fromCoroutine(survey_all(self.log_dirs, state({})))
        self.failureResultOf(refused, StateLost)
        self.assertEqual(os.listdir(self.log_dirs[0].path), [".lock"])

    def test_settle_all(self) -> None:
        """All are waited for, then the first failure is raised."""
        waiting: Deferred[None] = Deferred()
        failed: Deferred[None] = execute(self.fail_with, OSError("one"))
        settling = Deferred.fromCoroutine(settle_all([failed, waiting]))
        self.assertNoResult(settling)
        waiting.errback(OSError("two"))
        self.assertEqual(str(self.failureResultOf(settling, OSError).value), "one")


class SavingTests(StoreCase, SynchronousTestCase):
    def make_store(self) -> Any:
        """A store in one dir."""
        return file_store(self.clock, self.mktemp())

    def test_names_once(self) -> None:
        """A stop syncs the directory of each log once, and the log dir once for all; also with threads."""
        for many in (1000, 2):
            self.patch(lifecycle, "MANY", many)
            synced: list[str] = []
            self.patch(QuickFiles, "sync_dir", lambda files, path, to=synced: to.append(path))
            store = file_store(self.clock, self.mktemp())
            self.result(store.open(lambda topic: LogConfig()))
            names = [TopicPartition("t", number) for number in range(4)]
            for name in names:
                log = self.result(store.create(name, uuid.uuid4(), LogConfig()))
                self.put(log, batch([b"x"], producer=(1, 0, 0)))
            (log_dir,) = store.dirs
            synced.clear()
            self.result(store.close())
            counts = Counter(os.path.basename(path) for path in synced if path != log_dir.path)
            self.assertEqual(counts, {str(name): 1 for name in names})
            of_logs = synced[: synced.index(log_dir.path)]
            self.assertEqual(len(of_logs), len(names))

    def test_arriving(self) -> None:
        """Checkpoints have the logs of a dir, and those that are being moved into it."""
        store = self.opened()
        log = self.result(store.create(TP, uuid.uuid4(), LogConfig()))
        self.put(log, *[batch([b"x"])] * 3)
        log.advance_log_start(2)
        (log_dir,) = store.dirs
        del log_dir.logs[TP]
        log_dir.arriving[TP] = log
        saving(log_dir, None)()
        with open(os.path.join(log_dir.path, LOG_STARTS), "rb") as file:
            self.assertEqual(decode_offsets(file.read()), {TP: 2})
