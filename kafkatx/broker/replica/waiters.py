"""Operations that wait for something in a partition, such as delayed fetches; and what wakes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kafkatx.broker.replica.commit_waiters import CommitWaiters
from kafkatx.counts import PartitionCounts
from kafkatx.errors import ErrorCode


class Waiter(Protocol):
    """An operation that waits for data, such as :class:`kafkatx.broker.replica.purgatory.DelayedFetch`."""

    def wake(self) -> None:
        """Look whether there is enough now."""


def wake_each(waiters: Iterable[Waiter]) -> None:
    """Wake all; they may leave, and others come, meanwhile."""
    for waiter in tuple(waiters):
        waiter.wake()


class Awaited:
    """The operations that wait for a partition, and the facts that they wait for.

    :ivar delayed_fetches: the fetches that wait for more committed data of this partition.
    :ivar replica_fetches: the fetches of followers that wait for more data.
    :ivar delayed_deletes: operations that wait until followers have moved their log starts.
    :ivar commit_waiters: operations that wait until records are committed.
    :ivar counts: counts of what clients have asked.
    """

    __slots__ = (
        "_woken_at",
        "commit_waiters",
        "counts",
        "delayed_deletes",
        "delayed_fetches",
        "error",
        "high_watermark",
        "isr",
        "leader_epoch",
        "min_insync",
        "replica_fetches",
        "replicated",
    )

    def __init__(self) -> None:
        self.delayed_fetches: set[Waiter] = set()
        self.replica_fetches: set[Waiter] = set()
        self.delayed_deletes: set[Waiter] = set()
        self.commit_waiters = CommitWaiters()
        self.counts = PartitionCounts()
        self.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        self.high_watermark = self._woken_at = -1
        self.isr: tuple[int, ...] = ()
        self.leader_epoch = -1
        self.min_insync = 1
        self.replicated = False

    def wake(self) -> None:
        """Wake all delayed fetches and deletions: the partition has changed."""
        self._woken_at = self.high_watermark
        for waiter in (*self.delayed_fetches, *self.replica_fetches, *self.delayed_deletes):
            waiter.wake()

    def wake_written(self) -> None:
        """Wake the fetches that wait for what was written: consumers see it when it is committed."""
        if not self.replicated:
            wake_each(self.delayed_fetches)
            return
        wake_each(self.replica_fetches)
        self._wake_committed()

    def _wake_committed(self) -> None:
        if self.high_watermark != self._woken_at:
            self._woken_at = self.high_watermark
            wake_each(self.delayed_fetches)
            self.commit_waiters.advance(self)

    def fail_commits(self, code: ErrorCode) -> None:
        """End all waiting for commits: this broker leads no more, or in another epoch, or is offline."""
        self.commit_waiters.fail(code)
