"""The wait of a fetcher with nothing to fetch: until it is woken, or a pause ends. It touches the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime


class Wakeup:
    """A wait, one at a time, with a timer that may also run while nothing waits.

    :param ring: called when the timer ends; it should call :meth:`wake`.
    """

    def __init__(self, clock: IReactorTime, ring: Callable[[], object]) -> None:
        self._clock = clock
        self._ring = ring
        self._waiting: Deferred[None] | None = None
        self._timer: IDelayedCall | None = None

    async def wait(self, ends_s: Iterable[float]) -> None:
        """Wait until :meth:`wake`; ring at the first of some times, as :meth:`set_timer` does."""
        waiting = self._waiting = Deferred(self._cancelled)
        self.set_timer(ends_s)
        try:
            await waiting
        finally:
            self.stop_timer()

    def wake(self) -> bool:
        """End the wait; return True if there was one."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return False
        waiting.callback(None)
        return True

    def set_timer(self, ends_s: Iterable[float]) -> None:
        """Ring at the first of some times of the clock that is to come, if there is one."""
        now_s = self._clock.seconds()
        later = [end_s for end_s in ends_s if end_s > now_s]
        if later:
            self._timer = self._clock.callLater(min(later) - now_s, self._ring)

    def stop_timer(self) -> None:
        """Cancel the timer."""
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def _cancelled(self, _: object) -> None:
        self._waiting = None
