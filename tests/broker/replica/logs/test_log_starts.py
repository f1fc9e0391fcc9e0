"""The log starts of followers, which are written before the leader hears of them."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.logs.log_starts import LogStarts


class FakeLog:
    """A log whose start a test sets."""

    log_start_offset = 0


class FakeReplica:
    """A partition."""

    def __init__(self) -> None:
        self.log: Any = FakeLog()
        self.kept_start = 0


class FakeStore:
    """A store whose checkpoints end when the test says so."""

    def __init__(self) -> None:
        self.writing: list[Deferred[None]] = []

    def checkpoint(self) -> Deferred[None]:
        """Begin to write."""
        self.writing.append(Deferred())
        return self.writing[-1]


class LogStartsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two replicas."""
        self.store = FakeStore()
        self.starts = LogStarts(cast(Any, self.store))
        self.replicas = [FakeReplica(), FakeReplica()]

    def move(self, number: int, start: int) -> None:
        """Move the log start of a replica."""
        self.replicas[number].log.log_start_offset = start
        self.starts.moved(self.replicas[number])

    def kept(self) -> list[int]:
        """Return the log starts that are kept."""
        return [replica.kept_start for replica in self.replicas]

    def test_written(self) -> None:
        """A log start counts when the write that had it has ended; later ones share the next write."""
        self.move(0, 5)
        self.move(0, 7)
        self.move(1, 3)
        self.assertEqual((len(self.store.writing), self.kept()), (1, [0, 0]))
        self.store.writing[0].callback(None)
        self.assertEqual((len(self.store.writing), self.kept()), (2, [5, 0]))
        self.store.writing[1].callback(None)
        self.assertEqual((len(self.store.writing), self.kept()), (2, [7, 3]))

    def test_failure(self) -> None:
        """After a failure nothing counts, until the next time; any but one of the disk is a bug."""
        for number, error in enumerate((OSError(28, "full"), ValueError("bug"))):
            self.move(0, 5)
            self.store.writing[number].errback(error)
            self.assertEqual(self.kept(), [0, 0])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.move(0, 5)
        self.store.writing[2].callback(None)
        self.assertEqual(self.kept(), [5, 0])

    def test_another_log(self) -> None:
        """The log start of a log that was replaced meanwhile does not count."""
        self.move(0, 5)
        self.replicas[0].log = FakeLog()
        self.store.writing[0].callback(None)
        self.assertEqual(self.kept(), [0, 0])
