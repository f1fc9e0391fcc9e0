"""Writers that wait until their records are committed: acks=all, groups' records, offset commits.

Records are committed when the high watermark is past them, *in the leader epoch in which they were written*:
after a change of leaders they may be gone, and others may have their offsets (KIP-101). One object for each
partition keeps its writers in the order of their offsets, so that a step of the high watermark looks at no
writer that it does not release. All partitions share one timer (:class:`CommitTimeouts`). It touches the
clock only.

A partition tells its waiters (:meth:`CommitWaiters.advance`, :meth:`CommitWaiters.fail`); the answers to
produce requests and the coordinators wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf
from typing import Protocol, TypeAlias

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.errors import ErrorCode

Settle: TypeAlias = "Callable[[ErrorCode], object]"
"""Takes NONE when the records are committed, or the reason why that is not known."""

_Entry: TypeAlias = "tuple[int, int, float, Settle]"
"""End offset, leader epoch, deadline, and the function to call."""

NONE = ErrorCode.NONE
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
TOO_FEW = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


class Replicated(Protocol):
    """The facts about a partition that decide if records are committed.

    :ivar error: the answer to all requests for it; NONE while this broker leads it.
    :ivar min_insync: number of in-sync replicas that acks=all needs.
    """

    high_watermark: int
    leader_epoch: int
    isr: tuple[int, ...]
    error: ErrorCode

    min_insync: int


def outcome_now(partition: Replicated, end_offset: int, leader_epoch: int) -> ErrorCode | None:
    """Return the outcome of a write, if it is known already; None if the writer must wait.

    :param end_offset: the offset after the last record of the write.
    :param leader_epoch: the leader epoch in which it was written.
    """
    if partition.error:
        return partition.error
    if partition.leader_epoch != leader_epoch:
        return NOT_LEADER
    if len(partition.isr) < partition.min_insync:
        return TOO_FEW
    return NONE if partition.high_watermark >= end_offset else None


_NOBODY: deque[_Entry] = deque(maxlen=0)
"""Shared by all partitions without writers that wait: most of ten thousand never have any."""


class CommitWaiters:
    """The writers of one partition that wait; False while there are none.

    :ivar deadline_s: no deadline of a writer is before this time of the clock.
    """

    __slots__ = ("_waiting", "deadline_s")

    def __init__(self) -> None:
        self._waiting = _NOBODY
        self.deadline_s = inf

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, end_offset: int, leader_epoch: int, deadline_s: float, settle: Settle) -> None:
        """Add a writer, which waits until the high watermark is at *end_offset*.

        :param leader_epoch: the leader epoch in which its records were written.
        :param deadline_s: the time at which :meth:`expire` gives it up; infinity for never.
        :param settle: called once, and never from within this method.
        """
        waiting = self._waiting
        if waiting is _NOBODY:
            waiting = self._waiting = deque()
        entry = (end_offset, leader_epoch, deadline_s, settle)
        if waiting and end_offset < waiting[-1][0]:  # a repeated batch, or one that was validated late
            at = len(waiting)
            while at and end_offset < waiting[at - 1][0]:
                at -= 1
            waiting.insert(at, entry)
        else:
            waiting.append(entry)
        self.deadline_s = min(deadline_s, self.deadline_s)

    def wait(self, end_offset: int, leader_epoch: int, deadline_s: float = inf) -> Deferred[ErrorCode]:
        """Wait, as :meth:`add` says.

        :return: fires with NONE or an error code, and never fails. Cancelling it ends the wait of this caller
            only.
        """
        waiting: Deferred[ErrorCode] = Deferred()
        self.add(end_offset, leader_epoch, deadline_s, waiting.callback)
        return waiting

    def advance(self, partition: Replicated) -> None:
        """Release the writers whose records are committed.

        While too few replicas are in sync nothing can be committed, and the writers that have a deadline are
        told so at once. Those without one wait until it is certain what has become of their records.

        The last one is called first: a connection sends replies in the order of its requests, so all that
        this releases leave in one write, when the first of them is there.
        """
        if partition.error:
            self.fail(partition.error)
            return
        if len(partition.isr) < partition.min_insync:
            self._release(lambda deadline_s: deadline_s != inf, TOO_FEW)
        waiting, high_watermark = self._waiting, partition.high_watermark
        released = []
        while waiting and waiting[0][0] <= high_watermark:
            released.append(waiting.popleft())
        for _, leader_epoch, _, settle in reversed(released):
            settle(NONE if leader_epoch == partition.leader_epoch else NOT_LEADER)

    def fail(self, code: ErrorCode) -> None:
        """Release all writers with an error: it is not known here if their records are committed."""
        released, self._waiting = self._waiting, _NOBODY
        self.deadline_s = inf
        for _, _, _, settle in reversed(released):
            settle(code)

    def expire(self, now_s: float) -> None:
        """Release the writers whose time is up, with REQUEST_TIMED_OUT."""
        self._release(lambda deadline_s: deadline_s <= now_s, ErrorCode.REQUEST_TIMED_OUT)

    def _release(self, ends: Callable[[float], bool], code: ErrorCode) -> None:
        """Release with an error the writers whose deadlines say so."""
        released, kept = [], deque[_Entry]()
        for entry in self._waiting:
            if ends(entry[2]):
                released.append(entry)
            else:
                kept.append(entry)
        self._waiting = kept
        self.deadline_s = min((entry[2] for entry in kept), default=inf)
        for _, _, _, settle in reversed(released):
            settle(code)


class CommitTimeouts:
    """One timer for the deadlines of all partitions' writers.

    A partition is looked at when the first deadline that it has told of has come, not whenever a writer is
    added or released: while replication keeps up, that is once in the time that clients allow.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._watched: set[CommitWaiters] = set()
        self._timer: IDelayedCall | None = None
        self._due_s = inf

    def deadline_s(self, timeout_s: float) -> float:
        """Return the time of the clock at which a writer's time is up."""
        return self._clock.seconds() + max(timeout_s, 0.0)

    def add(
        self, waiters: CommitWaiters, end_offset: int, leader_epoch: int, deadline_s: float, settle: Settle
    ) -> None:
        """Add a writer of a partition, as :meth:`CommitWaiters.add`, and give it up in time."""
        waiters.add(end_offset, leader_epoch, deadline_s, settle)
        if waiters.deadline_s < self._due_s:
            self._watched.add(waiters)
            self._schedule(waiters.deadline_s)
        elif waiters not in self._watched:
            self._watched.add(waiters)

    def _schedule(self, due_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due_s = due_s
        self._timer = self._clock.callLater(max(0.0, due_s - self._clock.seconds()), self._expire)

    def _expire(self) -> None:
        self._timer, self._due_s = None, inf
        now_s = self._clock.seconds()
        for waiters in [one for one in self._watched if one.deadline_s <= now_s]:
            waiters.expire(now_s)
        self._watched = {waiters for waiters in self._watched if waiters}
        due_s = min((waiters.deadline_s for waiters in self._watched), default=inf)
        if due_s != inf and due_s < self._due_s:
            self._schedule(due_s)

    def stop(self) -> None:
        """Stop the timer; the writers wait on."""
        self._watched.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._due_s = None, inf
