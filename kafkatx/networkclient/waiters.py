"""Several Deferreds for one event."""

from __future__ import annotations

from typing import Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class Waiters(Generic[T]):
    """Deferreds that fire together. Cancelling one removes it and leaves the others."""

    def __init__(self) -> None:
        self._waiting: dict[Deferred[T], None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self) -> Deferred[T]:
        """Return a Deferred that the next call of :meth:`fire` or :meth:`fail` fires."""
        waiting: Deferred[T] = Deferred(self._forget)
        self._waiting[waiting] = None
        return waiting

    def fire(self, result: T) -> None:
        """Fire all of them with *result*, in the order of their :meth:`wait` calls."""
        for waiting in self._take():
            if not waiting.called:  # the callback of one may have cancelled another
                waiting.callback(result)

    def fail(self, reason: Failure | BaseException) -> None:
        """Fail all of them with *reason*."""
        for waiting in self._take():
            if not waiting.called:
                waiting.errback(reason)

    def _take(self) -> list[Deferred[T]]:
        taken, self._waiting = self._waiting, {}
        return list(taken)

    def _forget(self, waiting: Deferred[T]) -> None:
        self._waiting.pop(waiting, None)
