"""Tests of kafkatx.log.partition.file_deleter: deletion after a delay, and its cancellation."""

from __future__ import annotations

import os

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.files import Files
from kafkatx.log.partition.file_deleter import FileDeleter
from kafkatx.log.partition.location import LogLocation
from kafkatx.testing.contracts.partition_log import TP


class FileDeleterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a deleter and two files."""
        self.clock = Clock()
        directory = self.mktemp()
        os.makedirs(directory)
        self.told: list[str] = []
        self.files = Files()
        self.deleter = FileDeleter(
            LogLocation(TP, directory, self.files, execute, lambda error, doing: self.told.append(doing)),
            self.clock,
        )
        self.paths = [os.path.join(directory, name) for name in ("a.deleted", "b.deleted")]
        for path in self.paths:
            open(path, "wb").close()

    def left(self) -> list[bool]:
        """True for each file that exists."""
        return [os.path.exists(path) for path in self.paths]

    def test_delay(self) -> None:
        """Each call has its own delay."""
        self.deleter.delete_later(self.paths[:1], 1000)
        self.deleter.delete_later(self.paths[1:], 3000)
        self.clock.advance(0.9)
        self.assertEqual(self.left(), [True, True])
        self.clock.advance(0.1)
        self.assertEqual(self.left(), [False, True])
        self.clock.advance(2)
        self.assertEqual(self.left(), [False, False])

    def test_cancelled(self) -> None:
        """Waiting deletions are left to the next start, and no call is left over; later calls work."""
        self.deleter.delete_later(self.paths[:1], 1000)
        self.deleter.cancel()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.left(), [True, True])
        self.deleter.delete_later(self.paths[1:], 0)
        self.clock.advance(0)
        self.assertEqual(self.left(), [True, False])

    def test_failed(self) -> None:
        """A file that cannot be unlinked is reported."""

        def fail(path: str) -> None:
            raise OSError("broken")

        self.patch(self.files, "unlink", fail)
        self.deleter.delete_later(self.paths, 0)
        self.clock.advance(0)
        self.assertEqual(self.told, [f"unlinking segments of {TP}"])
