"""The share of time that a reactor is idle: its poller is timed, two readings of the clock for each turn.

A reactor of one thread is saturated when it never waits. It touches the reactor that it is handed.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

SLOW_TURN_S = 0.1
"""A turn of the reactor that takes longer than this is counted: no client is answered meanwhile."""


class PollMeter:
    """Stands in the place of a reactor's epoll object, and times the calls of ``poll``.

    :ivar idle_s: seconds that the reactor has waited for events.
    :ivar busy_s: seconds that it has worked.
    :ivar turns: how often it has looked for events.
    :ivar slow_turns: turns that have taken longer than :data:`SLOW_TURN_S`.
    """

    def __init__(self, poller: Any, now_s: Callable[[], float] = monotonic) -> None:
        self._poll = poller.poll
        self.register, self.modify, self.unregister = poller.register, poller.modify, poller.unregister
        self.fileno, self.close = poller.fileno, poller.close
        self._now_s = now_s
        self._woken_s = now_s()
        self._marked = (0.0, 0.0, 1.0)
        self.idle_s = self.busy_s = 0.0
        self.turns = self.slow_turns = 0

    def poll(self, *arguments: Any) -> Any:
        """Wait for events, as the poller does."""
        began_s = self._now_s()
        busy_s = began_s - self._woken_s
        self.busy_s += busy_s
        if busy_s > SLOW_TURN_S:
            self.slow_turns += 1
        self.turns += 1
        try:
            return self._poll(*arguments)
        finally:
            self._woken_s = woken_s = self._now_s()
            self.idle_s += woken_s - began_s

    def idle_share(self) -> float:
        """Return the share of idle time since the last call that was more than a second before this one."""
        idle_s, busy_s, share = self._marked
        passed_s = self.idle_s + self.busy_s - idle_s - busy_s
        if passed_s > 1:
            share = (self.idle_s - idle_s) / passed_s
            self._marked = (self.idle_s, self.busy_s, share)
        return share


def measure_polls(reactor: Any) -> PollMeter | None:
    """Begin to time the polls of a reactor, once; return None if it is of another kind than epoll's."""
    poller = getattr(reactor, "_poller", None)
    if isinstance(poller, PollMeter):
        return poller
    if not all(hasattr(poller, name) for name in ("poll", "register", "modify", "unregister", "close")):
        return None
    meter = reactor._poller = PollMeter(poller)
    return meter
