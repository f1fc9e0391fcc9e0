"""A log dir with one partition of several segments, made by the log itself, and ways to damage it."""

from __future__ import annotations

import os
import shutil
import uuid
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.log.files import Files
from kafkatx.log.inspect.faults import Fault
from kafkatx.log.inspect.logdir import Check
from kafkatx.testing.contracts.partition_log import NOW_MS, TP, StoreCase, batch
from tests.log.fakes import QuickFiles, crash, file_store

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)
FIRST, LAST = "00000000000000000000.log", "00000000000000000016.log"
"""Of the three segments of :meth:`LogCase.fill`; the one between begins with 8."""


class LogCase(StoreCase, SynchronousTestCase):
    """``path`` is a log dir, ``directory`` the partition in it."""

    def setUp(self) -> None:
        """Make no log yet."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        self.directory = os.path.join(self.path, str(TP))
        self.files: Files = QuickFiles()

    def make_store(self) -> Any:
        """Return a store in the test's dir."""
        return file_store(self.clock, self.path)

    def fill(self, clean: bool = True, config: LogConfig = SMALL, count: int = 10) -> Any:
        """Write ten batches of two records by one producer, with a new leader epoch every three of them."""
        store = self.make_store()
        self.result(store.open(lambda topic: config))
        log = self.result(store.create(TP, uuid.UUID(int=7), config))
        for number in range(count):
            values = [b"%02d" % number * 30, b"-"]
            one = batch(values, [NOW_MS + number, NOW_MS], producer=(1, 0, 2 * number))
            self.put(log, one, leader_epoch=number // 3)
        self.result(store.checkpoint_high_watermarks({TP: log.log_end_offset}))
        self.end(store, clean)
        return log

    def end(self, store: Any, clean: bool = True) -> None:
        """Close a store, or let it crash."""
        if clean:
            self.result(store.close())
        else:
            crash(store)

    def keep(self) -> str:
        """Return a copy of the log dir."""
        kept: str = self.mktemp()
        shutil.copytree(self.path, kept)
        return kept

    def restore(self, kept: str) -> None:
        """Put the log dir back as it was."""
        shutil.rmtree(self.path)
        shutil.copytree(kept, self.path)

    def file(self, name: str) -> str:
        """Return the path of one of the partition's files, or of the log dir's."""
        here = os.path.join(self.directory, name)
        return here if os.path.exists(here) else os.path.join(self.path, name)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with open(self.file(name), "rb") as file:
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        """Replace the content of a file."""
        with open(self.file(name), "wb") as file:
            file.write(data)

    def spoil(self, name: str, position: int, mask: int = 0xFF) -> None:
        """Flip bits of one byte."""
        data = bytearray(self.read(name))
        data[position] ^= mask
        self.write(name, bytes(data))

    def faults(self, path: str | None = None, **options: Any) -> list[Fault]:
        """Return the faults of the log dir, or of *path*."""
        return list(Check(self.files, path or self.path, **options).faults())

    def reopened(self) -> tuple[list[tuple[int, bytes | None]], int]:
        """Return the content and the end of the log when a broker opens it; the broker then crashes."""
        store = self.make_store()
        self.result(store.open(lambda topic: SMALL))
        log = store.logs[TP]
        content, end = self.content(log), log.log_end_offset
        crash(store)
        return content, end
