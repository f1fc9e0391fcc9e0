"""Group commit: all callers that ask for a sync while one is under way share the next one. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class GroupCommit(Generic[T]):
    """Runs at most one commit at a time; one more serves all callers that wait meanwhile.

    A commit covers what was written when it began. A later caller needs the next one, unless nothing was
    written since: it passes *covered* then.

    :param begin: starts a commit of all that is written; what it fires with goes to all callers.
    """

    def __init__(self, begin: Callable[[], Deferred[T]]) -> None:
        self._begin = begin
        self._running: list[Deferred[T]] | None = None
        self._following: list[Deferred[T]] = []

    @property
    def is_running(self) -> bool:
        """True if a commit is under way."""
        return self._running is not None

    def join(self, covered: bool = False) -> Deferred[T]:
        """Wait for a commit of all that is written now.

        :param covered: the commit under way, if there is one, covers the caller.
        :return: fires or fails as the commit did; cancelling it does not stop the commit.
        """
        waiting: Deferred[T] = Deferred()
        if self._running is None:
            self._start([waiting])
        elif covered:
            self._running.append(waiting)
        else:
            self._following.append(waiting)
        return waiting

    def _start(self, waiting: list[Deferred[T]]) -> None:
        self._running = waiting
        try:
            committing = self._begin()
        except Exception:
            self._ended(Failure())
        else:
            committing.addBoth(self._ended)

    def _ended(self, result: T | Failure) -> None:
        done, self._running = self._running or [], None
        following, self._following = self._following, []
        if following:
            # before the callbacks run: they may call join()
            self._start(following)
        for waiting in done:
            if isinstance(result, Failure):
                waiting.errback(result)
            else:
                waiting.callback(result)
