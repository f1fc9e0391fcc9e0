"""Changes that are carried through, whether or not the client that asked for them stays."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import RequestError

T = TypeVar("T")


class Changes:
    """Owns the coroutines of changes that are under way."""

    _log = Logger()

    def __init__(self) -> None:
        self._under_way: set[Deferred[Any]] = set()

    def carry_through(self, work: Coroutine[Any, Any, T]) -> Deferred[T]:
        """Do *work* to its end; cancelling what this returns ends the waiting only."""
        waiting: Deferred[T] = Deferred()
        doing: Deferred[T] = Deferred.fromCoroutine(work)
        self._under_way.add(doing)

        def failed(failure: Failure) -> None:
            if waiting.called and not failure.check(RequestError):
                self._log.failure("a change of topics failed, and its client has gone", failure)
            waiting.errback(failure)

        def done(result: Any) -> Any:
            self._under_way.discard(doing)
            return result

        doing.addBoth(done)
        doing.addCallbacks(waiting.callback, failed)
        return waiting

    def settled(self) -> Deferred[Any]:
        """Fires when no change is under way any more."""
        return DeferredList(list(self._under_way), consumeErrors=True)
