"""Changes that are carried through, also when the client that asked for them disconnects."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, DeferredList
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import KafkaTXError

T = TypeVar("T")


class Changes:
    """The coroutines of changes that are under way."""

    _log = Logger()

    def __init__(self) -> None:
        self._under_way: set[Deferred[Any]] = set()

    def carry_through(self, work: Coroutine[Deferred[Any], Any, T]) -> Deferred[T]:
        """Run *work* to its end; cancelling the returned Deferred ends the waiting only."""
        waiting: Deferred[T] = Deferred()
        doing: Deferred[T] = Deferred.fromCoroutine(work)
        self._under_way.add(doing)

        def failed(failure: Failure) -> None:
            if waiting.called and not failure.check(KafkaTXError):
                self._log.failure("a change failed, and its client has gone", failure)
            waiting.errback(failure)

        def done(result: T | Failure) -> T | Failure:
            self._under_way.discard(doing)
            return result

        doing.addBoth(done)
        doing.addCallbacks(waiting.callback, failed)
        return waiting

    def settled(self) -> Deferred[None]:
        """Wait until no change is under way any more."""
        settling = DeferredList(list(self._under_way), consumeErrors=True)
        return settling.addCallback(lambda _: None)
