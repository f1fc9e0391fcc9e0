"""Shared by the tests of the log: settings, stores that open at once, files that fail."""

from __future__ import annotations

import errno
import os
from typing import Any

from twisted.internet.defer import execute
from twisted.internet.interfaces import IReactorTime

from kafkatx.interfaces import Worker
from kafkatx.log.files import Buffers, Files
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.testing.contracts.partition_log import find_retention
from kafkatx.types import SharedFile


class Settings:
    """The settings of BrokerConfig that a store reads."""

    def __init__(self, *log_dirs: str, broker_id: int = 1) -> None:
        self._values: dict[str, Any] = {"log.dirs": list(log_dirs), "broker.id": broker_id}

    def get(self, name: str) -> Any:
        """Return the value of a setting."""
        return self._values[name]


def at_once(name: str) -> Worker:
    """Return a worker that works where it is called."""
    return execute


def file_store(
    clock: IReactorTime, *log_dirs: str, broker_id: int = 1, files: Files | None = None
) -> FileLogStore:
    """Return a store in files whose Deferreds fire at once."""
    return FileLogStore(
        Settings(*log_dirs, broker_id=broker_id), at_once, clock, find_retention, files or QuickFiles()
    )


def memory_store(clock: IReactorTime) -> MemoryLogStore:
    """Return a store in memory."""
    return MemoryLogStore(Settings(), at_once, clock, find_retention)


def crash(store: FileLogStore) -> None:
    """Crash a store as kill -9 does: descriptors and lock are closed, and nothing is written."""
    for log_dir in store._log_dirs:
        log_dir.files.unlock()
    store._entries.clear()


def names(log: FileLog) -> list[str]:
    """Return the names in a log's directory."""
    return sorted(os.listdir(log.directory))


class QuickFiles(Files):
    """The real file system without syncs: these tests end processes, not machines."""

    def sync(self, file: SharedFile) -> None:
        """Do nothing."""

    def sync_dir(self, path: str) -> None:
        """Do nothing."""


class FailingFiles(QuickFiles):
    """The real file system, until it is told to fail."""

    def __init__(self) -> None:
        self.bytes_left: int | None = None
        """How much can still be written; None for no end."""
        self.fail_sync = False
        self.fail_truncate = False
        self.synced: list[str] = []

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Write as much as fits, then fail as a full disk does."""
        if self.bytes_left is not None and size > self.bytes_left:
            part = b"".join(bytes(buffer) for buffer in buffers)[: self.bytes_left]
            self.bytes_left = 0
            os.pwrite(file.fileno(), part, position)
            raise OSError(errno.ENOSPC, "no space left", file.path)
        if self.bytes_left is not None:
            self.bytes_left -= size
        super().writev(file, buffers, position, size)

    def truncate(self, file: SharedFile, size: int) -> None:
        """Truncate, or fail."""
        if self.fail_truncate:
            raise OSError(errno.EIO, "truncate failed", file.path)
        super().truncate(file, size)

    def sync(self, file: SharedFile) -> None:
        """Record the name, or fail."""
        if self.fail_sync:
            raise OSError(errno.EIO, "sync failed", file.path)
        self.synced.append(os.path.basename(file.path))
        super().sync(file)
