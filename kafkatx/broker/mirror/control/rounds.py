"""Rounds of some work: again after a pause, at once when woken, never two at a time. Touches the clock."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.net.limited_log import LimitedLog

AFTER_FAILURE_S = 5.0
"""Pause after a round that has failed by a fault of ours."""


class Rounds:
    """Runs one kind of round until it is stopped.

    :param work: makes one round; returns the pause in seconds until the next one.
    :param what: for the log.
    """

    def __init__(
        self,
        clock: IReactorTime,
        work: Callable[[], Coroutine[Deferred[Any], Any, float]],
        what: str,
        limited_log: LimitedLog,
    ) -> None:
        self._clock = clock
        self._work = work
        self._what = what
        self._limited_log = limited_log
        self._running: Deferred[None] | None = None
        self._timer: IDelayedCall | None = None
        self._is_woken = False
        self._stopped = False

    def wake(self) -> None:
        """Begin a round soon, also after the one that is under way."""
        self._is_woken = True
        if self._running is None:
            self._schedule(0.0)

    def _schedule(self, pause_s: float) -> None:
        if self._stopped:
            return
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = self._clock.callLater(0.0 if self._is_woken else pause_s, self._begin)

    def _begin(self) -> None:
        self._is_woken = False
        self._running = Deferred()  # the coroutine may end before fromCoroutine() returns
        running = Deferred.fromCoroutine(self._round())
        if self._running is not None:
            self._running = running

    async def _round(self) -> None:
        pause_s = AFTER_FAILURE_S
        try:
            pause_s = await self._work()
        except CancelledError:
            self._running = None
            raise
        except Exception:
            self._limited_log.failure("{what} failed", what=self._what)
        self._running = None
        self._schedule(pause_s)

    def stop(self) -> Deferred[None]:
        """End the rounds, and the waiting of one that is under way; fires when it has ended."""
        self._stopped = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        running = self._running
        if running is None:
            return succeed(None)
        running.addErrback(lambda failure: failure.trap(CancelledError) and None)
        running.cancel()
        return running
