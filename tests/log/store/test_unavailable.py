"""One partition of a log dir whose files cannot be used: the others go on, nothing of it is touched."""

from __future__ import annotations

import errno
import os
import uuid
from typing import Any

from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.checkpoint import decode_offsets
from kafkatx.testing.contracts.partition_log import StoreCase, batch
from kafkatx.types import SharedFile, TopicPartition
from tests.log.fakes import QuickFiles, crash, file_store

BAD, GOOD = TopicPartition("t", 0), TopicPartition("t", 1)
CONFIG = LogConfig()
SEGMENT = "00000000000000000000.log"


class LockedFiles(QuickFiles):
    """Files of which some may not be opened."""

    def __init__(self) -> None:
        self.locked = ""

    def open(self, path: str, flags: int = os.O_RDWR) -> SharedFile:
        """Open or fail."""
        if self.locked and path.endswith(self.locked):
            raise OSError(errno.EACCES, "Permission denied", path)
        return super().open(path, flags)


class UnavailableTests(StoreCase, SynchronousTestCase):
    def setUp(self) -> None:
        """Two partitions in one dir; the log of the first may not be opened at the next start."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        self.files = LockedFiles()
        self.topic_id = uuid.uuid4()
        store = self.opened(CONFIG)
        for name in (BAD, GOOD):
            log = self.result(store.create(name, self.topic_id, CONFIG))
            self.put(log, batch([b"a"]), batch([b"b"]), batch([b"c"]))
            log.advance_log_start(1)
        self.result(store.close())
        self.files.locked = os.path.join(str(BAD), SEGMENT)
        with capturedLogs() as self.events:
            self.store = self.opened(CONFIG)

    def make_store(self) -> Any:
        """A store in the test's dir."""
        store = file_store(self.clock, self.path, files=self.files)
        self.addCleanup(crash, store)
        return store

    def checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Return the content of an offset checkpoint."""
        with open(os.path.join(self.path, name), "rb") as file:
            return decode_offsets(file.read())

    def test_others_go_on(self) -> None:
        """The partition is told with its reason, in one line; the other one of the dir is served."""
        self.assertEqual(list(self.store.logs), [GOOD])
        self.assertEqual(list(self.store.unavailable), [BAD])
        self.assertIn(os.path.join(self.path, str(BAD), SEGMENT), self.store.unavailable[BAD])
        (line,) = [event for event in self.events if event["log_level"] == LogLevel.critical]
        self.assertEqual((line["name"], line["reason"]), (BAD, self.store.unavailable[BAD]))
        self.assertIsNone(self.store.dirs[0].error)
        self.assertEqual(self.content(self.store.logs[GOOD]), [(1, b"b"), (2, b"c")])

    def test_not_made_anew(self) -> None:
        """It cannot be created for its own topic; its files stay as they are."""
        self.failureResultOf(self.store.create(BAD, self.topic_id, CONFIG), OSError)
        self.assertTrue(os.path.exists(os.path.join(self.path, str(BAD), SEGMENT)))

    def test_checkpoints_keep_it(self) -> None:
        """Its entries in the checkpoints survive, and the dir is not marked clean: a start checks it."""
        self.result(self.store.checkpoint())
        self.result(self.store.close())
        self.assertEqual(self.checkpoint("log-start-offset-checkpoint"), {BAD: 1, GOOD: 1})
        self.assertEqual(self.checkpoint("recovery-point-offset-checkpoint"), {BAD: 3, GOOD: 3})
        self.assertFalse(os.path.exists(os.path.join(self.path, ".kafka_cleanshutdown")))
        self.files.locked = ""
        store = self.opened(CONFIG)
        self.assertEqual(dict(store.unavailable), {})
        self.assertEqual(self.content(store.logs[BAD]), [(1, b"b"), (2, b"c")])

    def test_deleted(self) -> None:
        """A client that deletes the topic takes the files away, too, and the dir is clean again."""
        self.result(self.store.delete(BAD))
        self.clock.advance(1)
        self.assertEqual(dict(self.store.unavailable), {})
        self.assertEqual([name for name in os.listdir(self.path) if name.startswith("t-0")], [])
        self.result(self.store.close())
        self.assertEqual(self.checkpoint("log-start-offset-checkpoint"), {GOOD: 1})
        self.assertTrue(os.path.exists(os.path.join(self.path, ".kafka_cleanshutdown")))
