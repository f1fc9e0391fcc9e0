"""Shared by the tests of recovery: a log that is filled, closed or crashed, damaged and opened again."""

from __future__ import annotations

import os
import shutil
import uuid
from typing import Any

from kafkatx.config.log_config import LogConfig
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, StoreCase, batch
from tests.log.fakes import crash, file_store

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


class RecoveryCase(StoreCase):
    """A log in a dir of its own."""

    def setUp(self) -> None:
        """Make one log dir; ``keep`` a copy of its content."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        self.keep = self.mktemp()

    def make_store(self) -> Any:
        """Return a store in the test's dir."""
        return file_store(self.clock, self.path)

    def fill(self, count: int = 12, clean: bool = False, config: LogConfig = SMALL) -> Any:
        """Make a log of *count* batches of two records in several segments, closed or crashed, and copied."""
        store = self.opened(config)
        log = self.result(store.create(TP, uuid.uuid4(), config))
        for number in range(count):
            one = batch([b"%d" % number * 30, b"-"], [NOW_MS + number, NOW_MS], producer=(1, 0, 2 * number))
            self.put(log, one, leader_epoch=number // 5)
        if clean:
            self.result(store.close())
        else:
            crash(store)
        shutil.copytree(self.path, self.keep)
        return log

    def restore(self) -> None:
        """Put the dir back as it was."""
        shutil.rmtree(self.path)
        shutil.copytree(self.keep, self.path)

    def reopen(self, config: LogConfig = SMALL) -> Any:
        """Open the log again; the store is left to be crashed."""
        store = self.make_store()
        self.result(store.open(lambda topic: config))
        self.addCleanup(crash, store)
        self.store = store
        return store.logs[TP]

    def file(self, name: str) -> str:
        """Return the path of one of the log's files."""
        return os.path.join(self.path, str(TP), name)

    def read_file(self, name: str) -> bytes:
        """Return the content of one of the log's files."""
        with open(self.file(name), "rb") as file:
            return file.read()

    def write_file(self, name: str, data: bytes) -> None:
        """Replace the content of one of the log's files."""
        with open(self.file(name), "wb") as file:
            file.write(data)

    def check_prefix(self, log: Any, batches: int) -> None:
        """Check that the log holds the first *batches*, serves them, and accepts the next one."""
        expected: list[tuple[int, bytes]] = []
        for number in range(batches):
            expected += [(2 * number, b"%d" % number * 30), (2 * number + 1, b"-")]
        self.assertEqual(self.content(log), expected)
        self.assertEqual(log.log_end_offset, 2 * batches)
        for offset in range(0, 2 * batches, 5):
            self.assertEqual(self.content(log, offset), expected[offset:])
        for number in range(batches):
            found = self.result(log.offset_for_timestamp(NOW_MS + number))
            self.assertEqual(found, (2 * number, NOW_MS + number, number // 5))
        if batches:
            newest = 2 * batches - 2
            found = self.result(log.max_timestamp())
            self.assertEqual(found, (newest, NOW_MS + batches - 1, (batches - 1) // 5))
        (appended,) = self.put(log, batch([b"next"], producer=(1, 0, 2 * batches)), leader_epoch=9)
        self.assertEqual(appended.base_offset, 2 * batches)

    def refused(self, config: LogConfig = SMALL) -> str:
        """Open the log again; return why it is unavailable, after a check that no file has changed."""
        before = self.contents()
        store = self.make_store()
        self.result(store.open(lambda topic: config))
        self.addCleanup(crash, store)
        self.store = store
        self.assertEqual(list(store.logs), [])
        self.assertEqual(self.contents(), before)
        return str(store.unavailable[TP])

    def contents(self) -> dict[str, bytes]:
        """Return the content of the ``.log`` files, and of those that were kept."""
        return {name: self.read_file(name) for name in os.listdir(self.file("")) if ".log" in name}

    def check_kept(self, before: dict[str, bytes]) -> None:
        """Check that every byte of the ``.log`` files *before* is in them or kept beside them."""
        joined: dict[str, bytes] = {}
        for name, data in sorted(self.contents().items(), key=lambda one: (len(one[0]), one[0])):
            joined[name[:24]] = joined.get(name[:24], b"") + data
        for name, data in before.items():
            self.assertEqual(joined[name[:24]][: len(data)], data, name)
