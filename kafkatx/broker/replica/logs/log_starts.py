"""The log starts of followers, written to the disk before the leader hears of them.

It touches the log store. DeleteRecords succeeds when all replicas say that their logs start behind the
deleted records. A follower that says so and is killed must not come back with them: it may be elected.
"""

from __future__ import annotations

from typing import Protocol

from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.interfaces import ILogStore, IPartitionLog


class Replica(Protocol):
    """A partition: :class:`kafkatx.broker.replica.partition.Partition`.

    :ivar kept_start: its log starts at this offset or later, also after a crash.
    """

    log: IPartitionLog
    kept_start: int


class LogStarts:
    """Writes the log starts that have moved; all of them at once, one write after the other."""

    _log = Logger()

    def __init__(self, store: ILogStore) -> None:
        self._store = store
        self._moved: dict[Replica, None] = {}
        self._is_writing = False

    def moved(self, replica: Replica) -> None:
        """Write the log start of a replica soon, and raise its ``kept_start`` then."""
        self._moved[replica] = None
        if not self._is_writing:
            self._write()

    def _write(self) -> None:
        moved, self._moved = self._moved, {}
        starts = [(replica, replica.log, replica.log.log_start_offset) for replica in moved]
        self._is_writing = True
        self._store.checkpoint().addCallbacks(self._written, self._failed, callbackArgs=(starts,))

    def _written(self, _: None, starts: list[tuple[Replica, IPartitionLog, int]]) -> None:
        self._is_writing = False
        for replica, log, start in starts:
            if replica.log is log:
                replica.kept_start = max(replica.kept_start, start)
        if self._moved:
            self._write()

    def _failed(self, failure: Failure) -> None:
        """Wait for the next call; failures of the disk are the store's to handle."""
        self._is_writing = False
        if not failure.check(OSError):
            self._log.failure("writing the log starts failed", failure)
