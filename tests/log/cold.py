"""A file system whose page cache the test empties, and a worker that the test runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, execute

from kafkatx.interfaces import Worker
from kafkatx.log.files import Buffers, Reads
from kafkatx.types import SharedFile
from tests.log.fakes import QuickFiles

BLOCK_BYTES = 4096


class ColdFiles(QuickFiles):
    """Files that record which blocks of which files are in memory.

    :ivar waited: what was read from the disk outside of the worker: file name and position.
    :ivar opened: the paths opened outside of the worker.
    :ivar loads: what was asked to be loaded: position, size, bytes ahead.
    """

    def __init__(self) -> None:
        self.cached: Reads = _Cached(self)
        self.in_worker = False
        self.waited: list[tuple[str, int]] = []
        self.opened: list[str] = []
        self.loads: list[tuple[int, int, int]] = []
        self.jobs: list[tuple[Callable[[], Any], Deferred[Any]]] = []
        self._blocks: set[tuple[str, int]] = set()

    def drop(self) -> None:
        """Empty the page cache, and forget the recorded calls."""
        self._blocks.clear()
        self.waited.clear()
        self.opened.clear()
        self.loads.clear()

    # --- the worker

    def workers(self, name: str) -> Worker:
        """Return workers: those that read ahead wait for :meth:`work`, all others work at once."""
        return self._later if name.startswith("read-ahead") else self._now

    def _now(self, function: Callable[[], Any]) -> Deferred[Any]:
        before, self.in_worker = self.in_worker, True
        try:
            return execute(function)
        finally:
            self.in_worker = before

    def _later(self, function: Callable[[], Any]) -> Deferred[Any]:
        done: Deferred[Any] = Deferred()
        self.jobs.append((function, done))
        return done

    def work(self) -> int:
        """Do the waiting work; return the number of calls."""
        jobs, self.jobs = self.jobs, []
        for function, done in jobs:
            self._now(function).chainDeferred(done)
        return len(jobs)

    # --- the page cache

    def has(self, file: SharedFile, position: int, size: int) -> bool:
        """Return True if a part of a file is in memory."""
        return self._blocks.issuperset(_blocks(file, position, size))

    def _read(self, file: SharedFile, position: int, size: int) -> None:
        if not self.has(file, position, size):
            if not self.in_worker:
                self.waited.append((file.path, position))
            self._blocks.update(_blocks(file, position, size))

    def open(self, path: str, *flags: int) -> SharedFile:
        """Record the path, and open."""
        if not self.in_worker:
            self.opened.append(path)
        return super().open(path, *flags)

    def writev(self, file: SharedFile, buffers: Buffers, position: int, size: int) -> None:
        """Count written bytes as being in memory."""
        super().writev(file, buffers, position, size)
        self._blocks.update(_blocks(file, position, size))

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Read, from the disk if need be."""
        data = super().pread(file, size, position)
        self._read(file, position, len(data))
        return data

    def read(self, path: str) -> bytes | None:
        """Read from the disk."""
        if not self.in_worker:
            self.waited.append((path, 0))
        return super().read(path)

    def is_cached(self, file: SharedFile, position: int, size: int) -> bool:
        """Return True if a part of a file is in memory."""
        return self.has(file, position, size)

    def load(self, file: SharedFile, position: int, size: int, ahead: int) -> None:
        """Read from the disk."""
        self.loads.append((position, size, ahead))
        self._read(file, position, size + ahead)


class _Cached:
    """The parts of the files that are in memory."""

    def __init__(self, files: ColdFiles) -> None:
        self._files = files

    def pread(self, file: SharedFile, size: int, position: int) -> bytes:
        """Return the cached bytes."""
        data = QuickFiles.pread(self._files, file, size, position)
        if not self._files.has(file, position, len(data)):
            raise BlockingIOError
        return data


def _blocks(file: SharedFile, position: int, size: int) -> set[tuple[str, int]]:
    first, last = position // BLOCK_BYTES, (position + size - 1) // BLOCK_BYTES
    return {(file.path, number) for number in range(first, last + 1)} if size > 0 else set()
