"""Tests of kafkatx.log.store.lazy_cleaner: a cleaner that is made with its first pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.cleaner.passes import Finished, Memory, Pass
from kafkatx.log.files import Files
from kafkatx.log.segment.swap import Cleaned
from kafkatx.log.store.lazy_cleaner import LazyCleaner
from tests.log.fakes import at_once


class Settings:
    """The two settings that are asked for."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes

    def get(self, name: str) -> object:
        """The value of a setting."""
        values = {
            "log.cleaner.dedupe.buffer.size": self._memory_bytes,
            "log.cleaner.io.buffer.load.factor": 0.5,
        }
        return values[name]


def no_pass(files: Files, job: Pass, alive: Callable[[], None]) -> Iterator[Cleaned | Finished]:
    """A pass that must not be made."""
    raise AssertionError(job)


class LazyCleanerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a cleaner with 1,000 bytes of memory."""
        self.cleaner = LazyCleaner(Settings(1000), at_once, Files(), no_pass)

    def memory(self) -> Memory | None:
        """The memory of the cleaner that was made, if one was."""
        made = self.cleaner._cleaner
        return None if made is None else made.memory

    def clean(self) -> object:
        """Look for a log to compact; there is none."""
        return self.successResultOf(Deferred.fromCoroutine(self.cleaner.clean_one([], 0)))

    def test_made_late(self) -> None:
        """Nothing is made before the first pass, and one cleaner then."""
        self.assertIsNone(self.memory())
        self.assertIsNone(self.clean())
        first = self.cleaner._cleaner
        self.clean()
        self.assertIs(self.cleaner._cleaner, first)

    def test_settings(self) -> None:
        """The memory is that of the latest settings, before the first pass and after."""
        self.cleaner.reconfigure(Settings(2000))
        self.clean()
        self.assertEqual(self.memory(), Memory(2000, 0.5))
        self.cleaner.reconfigure(Settings(3000))
        self.assertEqual(self.memory(), Memory(3000, 0.5))

    def test_stop(self) -> None:
        """A store that has never compacted stops at once; one that has, too."""
        self.successResultOf(Deferred.fromCoroutine(self.cleaner.stop()))
        self.clean()
        self.successResultOf(Deferred.fromCoroutine(self.cleaner.stop()))
