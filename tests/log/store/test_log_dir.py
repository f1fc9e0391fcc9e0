"""Log dirs that fail, one of several: what goes offline, what goes on, and what a full disk does."""

from __future__ import annotations

import errno
import os
import uuid
from typing import Any

from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError
from kafkatx.interfaces import ILogDir
from kafkatx.log.files import Files
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.testing.contracts.partition_log import NOW_MS, StoreCase, batch, find_retention
from kafkatx.types import SharedFile, TopicPartition
from tests.log.fakes import QuickFiles, Settings, at_once, crash

SMALL = LogConfig(segment_bytes=200, file_delete_delay_ms=1000)


class BadFiles(QuickFiles):
    """Files of which some operations under one directory fail."""

    def __init__(self) -> None:
        self.bad_dir = "nowhere"
        self.error = errno.EIO
        self.failing: set[str] = set()

    def _check(self, what: str, path: str) -> None:
        if what in self.failing and os.path.abspath(path).startswith(self.bad_dir):
            raise OSError(self.error, os.strerror(self.error), path)

    def writev(self, file: SharedFile, *rest: Any) -> None:
        """Write or fail."""
        self._check("write", file.path)
        super().writev(file, *rest)

    def sync(self, file: SharedFile) -> None:
        """Sync or fail."""
        self._check("sync", file.path)

    def create(self, path: str) -> SharedFile:
        """Create or fail."""
        self._check("create", path)
        return super().create(path)

    def rename(self, old: str, new: str) -> None:
        """Rename or fail."""
        self._check("rename", old)
        super().rename(old, new)

    def make_dirs(self, path: str) -> None:
        """Make or fail."""
        self._check("make_dirs", path)
        super().make_dirs(path)

    def remove_tree(self, path: str) -> None:
        """Remove or fail."""
        self._check("remove_tree", path)
        super().remove_tree(path)

    def names(self, path: str) -> list[str]:
        """List or fail."""
        self._check("names", path)
        return super().names(path)


class PlaceTests(StoreCase, SynchronousTestCase):
    def setUp(self) -> None:
        """A store with two dirs and two logs in each, t-0 and t-2 in the first, which will fail."""
        super().setUp()
        self.first, self.second = (os.path.abspath(self.mktemp()) for _ in range(2))
        self.files = BadFiles()
        self.files.bad_dir = self.first
        self.gone: list[Any] = []
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: SMALL))
        self.addCleanup(lambda: crash(self.store))
        for number in range(4):
            self.result(self.store.create(TopicPartition("t", number), uuid.uuid4(), SMALL))
        self.bad, self.good, *_ = (self.log(number) for number in range(4))

    def make_store(self, *dirs: str, files: Files | None = None) -> Any:
        """A store; what goes offline is noted in ``gone``."""
        settings = Settings(*(dirs or (self.first, self.second)))
        store = FileLogStore(settings, at_once, self.clock, find_retention, files or self.files)
        store.on_offline = self.gone.append
        return store

    def log(self, number: int) -> Any:
        """The log of t's partition."""
        return self.store.logs[TopicPartition("t", number)]

    def check_offline(self, doing: str, events: Any) -> None:
        """The first dir is offline with one line that says why, its logs are gone, the others serve."""
        lines = [event for event in events if event["log_level"] == LogLevel.critical]
        self.assertEqual([(line["path"], line["count"]) for line in lines], [(self.first, 2)])
        self.assertIn(doing, lines[0]["doing"])
        self.assertEqual([place.path for place in self.gone], [self.first])
        self.assertEqual(sorted(name.partition for name in self.store.logs), [1, 3])
        self.assertEqual(sorted(name.partition for name in self.store.dirs[0].logs), [0, 2])
        self.put(self.good, batch([b"b"]))
        self.assertEqual(self.result(self.good.flush()), self.good.log_end_offset)
        self.result(self.store.checkpoint())
        self.result(self.store.close())
        marker = ".kafka_cleanshutdown"
        self.assertFalse(os.path.exists(os.path.join(self.first, marker)))
        self.assertTrue(os.path.exists(os.path.join(self.second, marker)))

    def fail_append(self) -> OSError:
        """Append to the bad log; the error of the write."""
        self.bad.append(batch([b"a"]), 0, NOW_MS, True)
        error: OSError = self.assertRaises(OSError, self.bad.write)
        return error

    def test_facts(self) -> None:
        """Each dir tells its path, its logs, and that nothing is wrong."""
        for place, path, numbers in zip(
            self.store.dirs, (self.first, self.second), ([0, 2], [1, 3]), strict=True
        ):
            self.assertTrue(verifyObject(ILogDir, place))
            self.assertEqual((place.path, place.error), (path, None))
            self.assertEqual([name.partition for name in place.logs], numbers)

    def test_write(self) -> None:
        """A write that fails for the disk's sake takes the dir offline."""
        self.files.failing = {"write"}
        with capturedLogs() as events:
            self.assertEqual(self.fail_append().errno, errno.EIO)
        self.check_offline("writing to t-0", events)

    def test_sync(self) -> None:
        """A failed sync takes the dir offline also with the error of a full disk: its bytes may be lost."""
        self.put(self.bad, batch([b"a"]))
        self.files.failing, self.files.error = {"sync"}, errno.ENOSPC
        with capturedLogs() as events:
            self.failureResultOf(self.bad.flush(), OSError)
        self.check_offline("flushing t-0", events)

    def test_checkpoint(self) -> None:
        """A failed checkpoint takes the dir offline; those of the other dirs are written."""
        self.files.failing = {"create"}
        self.put(self.good, batch([b"a"]))
        self.result(self.good.flush())
        with capturedLogs() as events:
            self.failureResultOf(self.store.checkpoint(), OSError)
        with open(os.path.join(self.second, "recovery-point-offset-checkpoint")) as file:
            self.assertIn("t 1 1", file.read())
        self.check_offline("writing checkpoints", events)

    def test_remove(self) -> None:
        """Deleted partitions that cannot be removed take the dir offline; a line each, and no traceback."""
        for number in (0, 2):
            self.result(self.store.delete(TopicPartition("t", number)))
        self.files.failing, self.files.error = {"remove_tree"}, errno.EPERM
        with capturedLogs() as events:
            self.clock.advance(2)
        self.assertIsNotNone(self.store.dirs[0].error)
        lines = [event for event in events if event["log_level"] == LogLevel.error]
        self.assertEqual([str(line["error"]).partition("]")[0] for line in lines], ["[Errno 1"] * 2)
        self.assertEqual([event for event in events if "log_failure" in event], [])

    def test_create(self) -> None:
        """A log that cannot be made in one dir is made in another, and the first goes offline."""
        self.result(self.store.create(TopicPartition("t", 4), uuid.uuid4(), SMALL))
        self.assertIn(TopicPartition("t", 4), self.store.dirs[0].logs)
        self.result(self.store.delete(TopicPartition("t", 4)))
        self.files.failing = {"make_dirs"}
        with capturedLogs() as events:
            self.result(self.store.create(TopicPartition("t", 4), uuid.uuid4(), SMALL))
        self.assertIn(TopicPartition("t", 4), self.store.dirs[1].logs)
        self.result(self.store.delete(TopicPartition("t", 4)))
        self.check_offline("making t-4", events)

    def test_log_cleaners(self) -> None:
        """A roll, retention, or deletion of records that the disk does not let happen says the same."""
        for chore, what in (
            (lambda log: log.roll_if_due(NOW_MS * 3), "create"),
            (lambda log: log.advance_log_start(log.segments[-1].base_offset), "rename"),
        ):
            self.put(self.bad, batch([b"a" * 150]), batch([b"b" * 150]))
            self.files.failing = {what}
            with capturedLogs() as events:
                self.assertRaises(OSError, chore, self.bad)
            self.check_offline(" t-0", events)
            self.files.failing = set()
            self.gone.clear()
            self.store = self.make_store()
            self.result(self.store.open(lambda topic: SMALL))
            self.bad, self.good = self.log(0), self.log(1)

    def test_offline_is_left_alone(self) -> None:
        """Nothing more is written to a dir that is offline, not even what was planned before."""
        self.put(self.bad, batch([b"a" * 150]), batch([b"b" * 150]))
        self.bad.advance_log_start(1)
        self.files.failing = {"write"}
        self.fail_append()
        unlinked: list[str] = []
        self.patch(self.files, "unlink", unlinked.append)
        self.clock.advance(10)
        self.result(self.store.checkpoint())
        self.result(self.store.close())
        self.assertEqual([path for path in unlinked if path.startswith(self.first)], [])

    def test_new_logs_go_elsewhere(self) -> None:
        """A dir that is offline has the fewest logs and gets none."""
        self.files.failing = {"write"}
        self.fail_append()
        for number in range(5, 8):
            self.result(self.store.create(TopicPartition("t", number), uuid.uuid4(), SMALL))
        self.assertEqual(len(self.store.dirs[1].logs), 5)

    def test_all_offline(self) -> None:
        """With every dir offline no log can be made."""
        self.files.failing, self.files.bad_dir = {"write"}, "/"
        self.fail_append()
        self.good.append(batch([b"a"]), 0, NOW_MS, True)
        self.assertRaises(OSError, self.good.write)
        self.assertEqual([place.path for place in self.gone], [self.first, self.second])
        self.failureResultOf(self.store.create(TopicPartition("u", 0), uuid.uuid4(), SMALL), OSError)
        self.result(self.store.close())

    # --- full disks

    def test_full(self) -> None:
        """A full disk refuses the whole append and stays in use: reads go on, writes when there is room."""
        self.put(self.bad, batch([b"a"]))
        self.files.failing, self.files.error = {"write"}, errno.ENOSPC
        with capturedLogs() as events:
            for _ in range(3):
                self.assertEqual(self.fail_append().errno, errno.ENOSPC)
            self.failureResultOf(self.store.checkpoint(), OSError)
        (line,) = (event for event in events if event["log_level"] == LogLevel.error)
        self.assertEqual(line["path"], self.first)
        self.assertEqual((self.gone, self.store.dirs[0].error), ([], None))
        self.assertEqual(self.content(self.bad), [(0, b"a")])
        self.files.failing = set()
        self.put(self.bad, batch([b"b"]))
        self.assertEqual(self.content(self.bad), [(0, b"a"), (1, b"b")])

    def test_half_a_segment(self) -> None:
        """No file of a segment is left if one cannot be made: a start would end the log there."""
        self.put(self.bad, batch([b"a"]))
        real = self.files.create

        def create(path: str) -> SharedFile:
            if path.endswith("1.timeindex"):
                raise OSError(errno.EMFILE, "too many open files")
            return real(path)

        patched = self.patch(self.files, "create", create)
        self.assertRaises(OSError, self.bad.roll_if_due, NOW_MS * 3)
        patched.restore()
        self.put(self.bad, batch([b"b"]))
        self.result(self.store.close())
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: SMALL))
        self.assertEqual((self.log(0).log_end_offset, len(self.log(0).segments)), (2, 1))

    def test_full_is_said_again(self) -> None:
        """A full disk is logged once a minute."""
        self.files.failing, self.files.error = {"write"}, errno.ENOSPC
        with capturedLogs() as events:
            for _ in range(4):
                self.fail_append()
                self.clock.advance(31)
        self.assertEqual(len([event for event in events if event["log_level"] == LogLevel.error]), 2)

    def test_full_while_making(self) -> None:
        """A log is made on another disk if one is full."""
        self.files.failing, self.files.error = {"write"}, errno.ENOSPC
        self.result(self.store.create(TopicPartition("t", 4), uuid.uuid4(), SMALL))
        self.assertIn(TopicPartition("t", 4), self.store.dirs[1].logs)
        self.assertFalse(os.path.exists(os.path.join(self.first, "t-4")))

    # --- opening

    def reopen(self, what: str, bad_dir: str) -> Any:
        """Close the store and open another, where something fails under a dir."""
        self.result(self.store.close())
        self.files.failing, self.files.bad_dir = {what}, bad_dir
        self.store = self.make_store()
        return self.store.open(lambda topic: SMALL)

    def test_open_without_one(self) -> None:
        """A dir that cannot be read at the start is offline; the others are opened, without on_offline."""
        with capturedLogs() as events:
            self.result(self.reopen("names", self.first))
        self.assertEqual(sorted(name.partition for name in self.store.logs), [1, 3])
        self.assertEqual([place.error is None for place in self.store.dirs], [False, True])
        self.assertEqual(self.gone, [])
        (line,) = (event for event in events if event["log_level"] == LogLevel.critical)
        self.assertEqual(line["path"], self.first)

    def test_cannot_be_made(self) -> None:
        """A dir that cannot be made is offline, if there is another."""
        self.result(self.store.close())
        with open(self.mktemp(), "w") as file:
            below_a_file = os.path.join(os.path.abspath(file.name), "x")
        self.store = self.make_store(below_a_file, self.second)
        self.result(self.store.open(lambda topic: SMALL))
        self.assertEqual(sorted(name.partition for name in self.store.logs), [1, 3])

    def test_open_without_any(self) -> None:
        """A start without any usable dir fails with one line."""
        failure = self.failureResultOf(self.reopen("names", "/"), SettingError)
        message = str(failure.value)
        self.assertIn(f"log.dirs={self.first}: {os.strerror(errno.EIO)}; ", message)
        self.files.failing = set()
        again = self.make_store()
        self.result(again.open(lambda topic: SMALL))
        self.result(again.close())

    def test_locked_is_fatal(self) -> None:
        """A dir that another broker has is no disk that failed: two brokers must not share the rest."""
        third = self.mktemp()
        other = self.make_store(third, self.first)
        message = str(self.failureResultOf(other.open(lambda topic: SMALL), SettingError).value)
        self.assertIn(f"log.dirs={self.first}: locked by another broker", message)

    # --- log starts

    def test_log_start_survives(self) -> None:
        """Once it is written down where a log starts, nothing before comes back after a crash."""
        self.bad.configure(LogConfig())
        self.put(self.bad, *[batch([b"%d" % n]) for n in range(5)])
        self.bad.advance_log_start(3)
        self.assertEqual(self.bad.flushed_offset, 0)
        self.result(self.store.checkpoint_log_start(self.bad.topic_partition))
        self.assertEqual(self.bad.flushed_offset, 5)
        crash(self.store)
        self.store = self.make_store()
        self.result(self.store.open(lambda topic: SMALL))
        self.assertEqual(self.content(self.log(0)), [(3, b"3"), (4, b"4")])

    def test_log_start_of_none(self) -> None:
        """It cannot be written down for a log that is gone, or whose dir is offline."""
        self.failureResultOf(self.store.checkpoint_log_start(TopicPartition("u", 0)), OSError)
        self.put(self.bad, batch([b"a"]))
        self.files.failing = {"create"}
        for _ in range(2):
            self.failureResultOf(self.store.checkpoint_log_start(self.bad.topic_partition), OSError)
        self.assertEqual([place.path for place in self.gone], [self.first])
