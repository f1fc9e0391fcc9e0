"""The watches of a connection, which remember what has to be read again.

It touches the clock only. Watches are lost with the connection; all is read again then
(:mod:`kafkatx.metadata.cluster.state.follower`).
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.interfaces.nodes import Change
from kafkatx.interfaces.tree import Watch


class Watches:
    """The set of paths that have changed since they were read.

    :param order: all paths that may be watched, in the order in which they are to be read again.
    :param delays_s: paths whose changes are reported late: many come together, and none is urgent.
    :param wake: called when a path has changed.
    """

    def __init__(
        self,
        clock: IReactorTime,
        order: tuple[str, ...],
        delays_s: dict[str, float],
        wake: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._order = order
        self._delays_s = delays_s
        self._wake = wake
        self._changed: set[str] = set()
        self._timers: dict[str, IDelayedCall] = {}

    def watch(self, path: str) -> Watch:
        """Return a watch for a request that reads *path*."""

        def changed(change: Change) -> None:
            if change is not Change.LOST:
                self._report(path)

        return changed

    def report(self, path: str) -> None:
        """Take it that *path* has changed."""
        self._changed.add(path)
        self._wake()

    def take(self) -> list[str]:
        """Return the paths that have changed, and forget that."""
        taken = [path for path in self._order if path in self._changed]
        self._changed.clear()
        return taken

    def clear(self) -> None:
        """Forget all changes: everything is read again, or nothing any more."""
        self._changed.clear()
        timers, self._timers = self._timers, {}
        for timer in timers.values():
            timer.cancel()

    def _report(self, path: str) -> None:
        delay_s = self._delays_s.get(path)
        if delay_s is None:
            self.report(path)
        elif path not in self._timers:
            self._timers[path] = self._clock.callLater(delay_s, self._late, path)

    def _late(self, path: str) -> None:
        del self._timers[path]
        self.report(path)
