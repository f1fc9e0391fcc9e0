"""Which slices of files are read before they are sent, by whom, and how much of them."""

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
    """A file that is, or is not, in the page cache."""

    __slots__ = ("asked", "cold", "loaded")

    def __init__(self, path: str, cold: bool) -> None:
        super().__init__(path, os.O_RDWR | os.O_CREAT)
        self.cold = cold
        self.asked: list[tuple[int, int]] = []
        self.loaded: list[tuple[int, int, int]] = []

    def is_cached(self, position: int, size: int) -> bool:
        """As the test says."""
        self.asked.append((position, size))
        return not self.cold

    def load(self, position: int, size: int, ahead: int = 0) -> None:
        """Note it."""
        self.loaded.append((position, size, ahead))


class ReadAheadTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Workers that wait."""
        self.jobs: list[tuple[str, Callable[[], Any], Deferred[Any]]] = []
        self.load = ReadAhead(self.workers)
        self.log_dir = self.mktemp()
        os.makedirs(os.path.join(self.log_dir, "t-0"))
        self.path = os.path.join(self.log_dir, "t-0", "0.log")

    def workers(self, name: str) -> Worker:
        """As Workers says."""

        def run(function: Callable[[], Any]) -> Deferred[Any]:
            done: Deferred[Any] = Deferred()
            self.jobs.append((name, function, done))
            return done

        return run

    def test_in_memory(self) -> None:
        """Nothing is done for what is in memory."""
        file = CoolFile(self.path, cold=False)
        self.assertIsNone(self.load(FileSlice(file, 100, 7)))
        self.assertEqual((file.asked, self.jobs), ([(100, 7)], []))

    def test_cold(self) -> None:
        """What is not is read by the worker of its log dir, and the Deferred fires then."""
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
        """Of a large slice a window is looked at and waited for; the reading of the next one is begun."""
        file = CoolFile(self.path, cold=True)
        for size, ahead in ((WINDOW_BYTES, 0), (WINDOW_BYTES + 5, 5), (9 * WINDOW_BYTES, WINDOW_BYTES)):
            self.load(FileSlice(file, 3, size))
            self.jobs.pop()[1]()
            self.assertEqual((file.asked[-1], file.loaded[-1]), ((3, WINDOW_BYTES), (3, WINDOW_BYTES, ahead)))
