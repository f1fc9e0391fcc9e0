"""Group commit: whoever asks for a sync while one is under way shares the next one. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class GroupCommit(Generic[T]):
    """At most one commit at a time; however many wait, one more is enough for all of them.

    What a commit brings to the disk is decided when it begins. So one that is under way does not help those
    who come later, unless nothing has changed since: they say so with *covered*.

    :param begin: starts a commit of all there is; fires, in the end, with what the waiting are told.
    """

    def __init__(self, begin: Callable[[], Deferred[T]]) -> None:
        self._begin = begin
        self._running: list[Deferred[T]] | None = None
        self._following: list[Deferred[T]] = []

    @property
    def is_running(self) -> bool:
        """Whether a commit is under way."""
        return self._running is not None

    def join(self, covered: bool = False) -> Deferred[T]:
        """Have all that is there now committed.

        :param covered: the commit under way, if there is one, will do.
        :return: fires or fails as the commit did; cancelling it ends the waiting only.
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
            # before anyone is told: those who are told may ask for more
            self._start(following)
        for waiting in done:
            if isinstance(result, Failure):
                waiting.errback(result)
            else:
                waiting.callback(result)
