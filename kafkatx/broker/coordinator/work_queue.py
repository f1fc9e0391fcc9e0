"""Work of groups in turns: many members who come at once must not hold up everybody else.

One member costs the reactor milliseconds where a group has many members and partitions (KIP-848: each that
joins has the broker assign anew), and the requests of hundreds may lie ready in one turn of the reactor. So
the time that such work takes is added up, and time that passes without it is taken off. At :data:`MOST_S`
requests have to wait, in their order, and each turn of the reactor works off that much of them, between what
other clients ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

MOST_S = 0.02


class _Waiting:
    """A request that has to wait.

    :ivar answer: what its connection waits for.
    """

    __slots__ = ("_begun", "_turns", "_work", "answer")

    def __init__(self, turns: GroupWorkQueue, work: Callable[[], Any]) -> None:
        self._turns = turns
        self._work = work
        self._begun: Deferred[Any] | None = None
        self.answer: Deferred[Any] = Deferred(self._cancel)

    def begin(self) -> None:
        """Work on it; the answer may have to wait on for something else."""
        self._begun = maybeDeferred(self._work)
        self._begun.chainDeferred(self.answer)

    def _cancel(self, _: Deferred[Any]) -> None:
        if self._begun is None:
            self._turns.forget(self)
        else:
            self._begun.cancel()


class GroupWorkQueue:
    """Does work at once where there was little of late, else in one of the next turns of the reactor."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._worked_s = 0.0
        self._ended_s = clock.seconds()
        self._waiting: dict[_Waiting, None] = {}
        self._next: IDelayedCall | None = None

    def run(self, work: Callable[[], Any]) -> Any:
        """Call *work* and return what it returns, or a Deferred of that where it has to wait.

        Cancelling the Deferred takes the work out, or cancels the Deferred that *work* has returned.
        """
        if not self._waiting and self._rest() < MOST_S:
            try:
                return work()
            finally:
                self._count()
        waiting = _Waiting(self, work)
        self._waiting[waiting] = None
        if self._next is None:
            self._next = self._clock.callLater(0, self._work_off)
        return waiting.answer

    def _rest(self) -> float:
        """Take off what has passed since the last work; give what is left, in seconds."""
        now_s = self._clock.seconds()
        self._worked_s = max(0.0, self._worked_s - (now_s - self._ended_s))
        self._ended_s = now_s
        return self._worked_s

    def _count(self) -> None:
        """Add the time since the last call of :meth:`_rest` or of this."""
        now_s = self._clock.seconds()
        self._worked_s += now_s - self._ended_s
        self._ended_s = now_s

    def _work_off(self) -> None:
        """Begin what waits, in order, for as long as a turn may take."""
        self._next = None
        self._rest()
        self._worked_s = 0.0
        while self._waiting and self._worked_s < MOST_S:
            waiting = next(iter(self._waiting))
            del self._waiting[waiting]
            waiting.begin()
            self._count()
        if self._waiting:
            self._next = self._clock.callLater(0, self._work_off)

    def forget(self, waiting: _Waiting) -> None:
        """Work on this no more: nobody waits for it."""
        self._waiting.pop(waiting, None)

    def stop(self) -> None:
        """Begin nothing any more."""
        self._waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None
