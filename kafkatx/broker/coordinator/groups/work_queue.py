"""A queue for the work of groups: many members that join at once must not hold up other clients.

One member costs the reactor milliseconds where a group has many members and partitions (KIP-848: the broker
assigns anew for each that joins), and the requests of hundreds may be ready in one turn of the reactor. So
the time that such work takes is added up, and time that passes without it is subtracted. From
:data:`TURN_S` on requests have to wait, in their order; each turn of the reactor does that much of them,
between the requests of other clients. It touches the clock only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

T = TypeVar("T")

TURN_S = 0.02
"""Seconds that group work may take in a turn of the reactor."""


class _Work(Generic[T]):
    """A request that has to wait.

    :ivar answer: fires with what the work gives.
    """

    __slots__ = ("_begun", "_drop", "_work", "answer")

    def __init__(self, work: Callable[[], T | Deferred[T]], drop: Callable[[_Work[T]], None]) -> None:
        self._work = work
        self._drop = drop
        self._begun: Deferred[T] | None = None
        self.answer: Deferred[T] = Deferred(self._cancel)

    def begin(self) -> None:
        """Do the work; its answer may have to wait for something else."""
        self._begun = Deferred.fromCoroutine(self._run())
        self._begun.chainDeferred(self.answer)

    async def _run(self) -> T:
        answer = self._work()
        return await answer if isinstance(answer, Deferred) else answer

    def _cancel(self, _: Deferred[T]) -> None:
        if self._begun is None:
            self._drop(self)
        else:
            self._begun.cancel()


class GroupWorkQueue:
    """Does work at once if there was little of late, otherwise in one of the reactor's next turns."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._worked_s = 0.0
        self._ended_s = clock.seconds()
        self._waiting: dict[_Work[Any], None] = {}
        self._next: IDelayedCall | None = None

    def run(self, work: Callable[[], T | Deferred[T]]) -> T | Deferred[T]:
        """Call *work* and return what it returns, or a Deferred of that if it has to wait.

        Cancelling the Deferred drops the work, or cancels the Deferred that *work* has returned.
        """
        if not self._waiting and self._rest() < TURN_S:
            try:
                return work()
            finally:
                self._count()
        waiting = _Work(work, self._forget)
        self._waiting[waiting] = None
        if self._next is None:
            self._next = self._clock.callLater(0, self._work_off)
        return waiting.answer

    def _rest(self) -> float:
        """Subtract the time since the last work; return the rest of the time worked, in seconds."""
        now_s = self._clock.seconds()
        self._worked_s = max(0.0, self._worked_s - (now_s - self._ended_s))
        self._ended_s = now_s
        return self._worked_s

    def _count(self) -> None:
        """Add the time since the last call of :meth:`_rest` or of this method."""
        now_s = self._clock.seconds()
        self._worked_s += now_s - self._ended_s
        self._ended_s = now_s

    def _work_off(self) -> None:
        """Begin waiting work, in order, for as long as a turn may take."""
        self._next = None
        self._rest()
        self._worked_s = 0.0
        while self._waiting and self._worked_s < TURN_S:
            waiting = next(iter(self._waiting))
            del self._waiting[waiting]
            waiting.begin()
            self._count()
        if self._waiting:
            self._next = self._clock.callLater(0, self._work_off)

    def _forget(self, waiting: _Work[Any]) -> None:
        self._waiting.pop(waiting, None)

    def stop(self) -> None:
        """Drop all that waits."""
        self._waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None
