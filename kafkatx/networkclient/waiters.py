"""Several who wait for one thing."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class Waiters(Generic[T]):
    """Deferreds that fire together. Cancelling one takes it out and leaves the others."""

    def __init__(self) -> None:
        self._waiting: dict[Deferred[T], None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self) -> Deferred[T]:
        """One more; fires or fails as :meth:`fire` and :meth:`fail` are called next."""
        waiting: Deferred[T] = Deferred(self._forget)
        self._waiting[waiting] = None
        return waiting

    def fire(self, result: T) -> None:
        """Give all of them the result, in the order in which they came."""
        for waiting in self._take():
            if not waiting.called:  # one who was told may have cancelled another
                waiting.callback(result)

    def fail(self, reason: Failure | BaseException) -> None:
        """Let all of them fail."""
        for waiting in self._take():
            if not waiting.called:
                waiting.errback(reason)

    def _take(self) -> list[Deferred[T]]:
        taken, self._waiting = self._waiting, {}
        return list(taken)

    def _forget(self, waiting: Deferred[Any]) -> None:
        self._waiting.pop(waiting, None)
