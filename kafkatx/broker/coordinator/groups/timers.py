"""The timers of groups: one for each, at the deadline of its machine. It touches the clock only."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.group.actions import NEVER_MS, Group


class _Timer:
    """A group's timer; ``due_ms`` may be earlier than the group's deadline."""

    __slots__ = ("call", "due_ms")

    def __init__(self, call: IDelayedCall, due_ms: int) -> None:
        self.call = call
        self.due_ms = due_ms


class GroupTimers:
    """Calls ``on_deadline(group)`` when a group's deadline has passed.

    A deadline that moves to a later time leaves the timer as it is: when it fires, too early, it is set
    again. So heartbeats, which move deadlines all the time, need no timers.
    """

    def __init__(self, clock: IReactorTime, on_deadline: Callable[[Group], None]) -> None:
        self._clock = clock
        self._on_deadline = on_deadline
        self._timers: dict[str, _Timer] = {}
        self._last_s = self._behind_s = 0.0

    def now_ms(self) -> int:
        """Return the machines' time, which never goes back, even if the reactor's does."""
        now_s = self._clock.seconds()
        if now_s < self._last_s:
            self._behind_s += self._last_s - now_s
        self._last_s = now_s
        return int((now_s + self._behind_s) * 1000)

    def set(self, group: Group) -> None:
        """Set the timer of a group whose deadline may have moved."""
        due_ms = group.deadline_ms
        if due_ms == NEVER_MS:
            return
        timer = self._timers.get(group.group_id)
        if timer is not None:
            if timer.due_ms <= due_ms:
                return
            timer.call.cancel()
        wait_s = max(due_ms - self.now_ms(), 0) / 1000
        self._timers[group.group_id] = _Timer(self._clock.callLater(wait_s, self._fire, group), due_ms)

    def _fire(self, group: Group) -> None:
        del self._timers[group.group_id]
        if group.deadline_ms <= self.now_ms():
            self._on_deadline(group)
        else:
            self.set(group)

    def drop(self, group_id: str) -> None:
        """Cancel the timer of a group."""
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.call.cancel()

    def stop(self) -> None:
        """Cancel all timers."""
        for group_id in list(self._timers):
            self.drop(group_id)
