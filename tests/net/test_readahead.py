"""Read-ahead: the file slices that are read before they are sent, by which worker, and how much of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces import Worker
from kafkatx.net.readahead import ReadAhead
from kafkatx.net.sender import WINDOW_BYTES
from kafkatx.types import FileSlice, SharedFile


class CoolFile(SharedFile):
    """A file that may or may not be in the page cache."""

    __slots__ = ("asked", "cold", "loaded")

    def __init__(self, path: str, cold: bool) -> None:
        super().__init__(path, os.O_RDWR | os.O_CREAT)
        self.cold = cold
        self.asked: list[tuple[int, int]] = []
        self.loaded: list[tuple[int, int, int]] = []

    def is_cached(self, position: int, size: int) -> bool:
        """Return the answer that the test chose."""
        self.asked.append((position, size))
        return not self.cold

    def load(self, position: int, size: int, ahead: int = 0) -> None:
        """Record the call."""
        self.loaded.append((position, size, ahead))


class ReadAheadTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make workers that keep their jobs for the test."""
        self.jobs: list[tuple[str, Callable[[], Any], Deferred[Any]]] = []
        self.load = ReadAhead(self.workers)
        self.log_dir = self.mktemp()
        os.makedirs(os.path.join(self.log_dir, "t-0"))
        self.path = os.path.join(self.log_dir, "t-0", "0.log")

    def workers(self, name: str) -> Worker:
        """Return a worker that keeps its jobs for the test."""

        def run(function: Callable[[], Any]) -> Deferred[Any]:
            done: Deferred[Any] = Deferred()
            self.jobs.append((name, function, done))
            return done

        return run

    def test_in_memory(self) -> None:
        """A slice in memory is not read ahead."""
        file = CoolFile(self.path, cold=False)
        self.assertIsNone(self.load(FileSlice(file, 100, 7)))
        self.assertEqual((file.asked, self.jobs), ([(100, 7)], []))

    def test_cold(self) -> None:
        """A slice not in memory is read by the worker of its log dir; then the Deferred fires."""
        file = CoolFile(self.path, cold=True)
        waiting = self.load(FileSlice(file, 100, 7))
        assert waiting is not None
        self.assertNoResult(waiting)
        ((name, job, done),) = self.jobs
        self.assertEqual(name, f"read-ahead {self.log_dir}")
        done.callback(job())
        self.successResultOf(waiting)
        self.assertEqual(file.loaded, [(100, 7, 0)])

    def test_window(self) -> None:
        """A window of a large slice is examined and awaited; the read of the next window is begun."""
        file = CoolFile(self.path, cold=True)
        for size, ahead in ((WINDOW_BYTES, 0), (WINDOW_BYTES + 5, 5), (9 * WINDOW_BYTES, WINDOW_BYTES)):
            self.load(FileSlice(file, 3, size))
            self.jobs.pop()[1]()
            self.assertEqual((file.asked[-1], file.loaded[-1]), ((3, WINDOW_BYTES), (3, WINDOW_BYTES, ahead)))
