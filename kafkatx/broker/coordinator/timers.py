"""When machines of groups are called though nobody asks them anything: one timer for each group."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.group.actions import NEVER_MS, Group


class _Timer:
    """When a group is looked at again; ``due_ms`` may be earlier than its deadline."""

    __slots__ = ("call", "due_ms")

    def __init__(self, call: IDelayedCall, due_ms: int) -> None:
        self.call = call
        self.due_ms = due_ms


class GroupTimers:
    """Calls ``ring(group)`` when a group's deadline has come.

    A deadline that moves away leaves its timer as it is: when that comes, too early then, it is set anew. So
    heartbeats, which move deadlines all the time, cost no timers.
    """

    def __init__(self, clock: IReactorTime, ring: Callable[[Group], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._timers: dict[str, _Timer] = {}
        self._last_s = self._behind_s = 0.0

    def now_ms(self) -> int:
        """Return the machines' time. It never goes back, also where a reactor not our own does."""
        now_s = self._clock.seconds()
        if now_s < self._last_s:
            self._behind_s += self._last_s - now_s
        self._last_s = now_s
        return int((now_s + self._behind_s) * 1000)

    def set(self, group: Group) -> None:
        """A group was called: its deadline may have moved."""
        due_ms = group.deadline_ms
        if due_ms == NEVER_MS:
            return
        timer = self._timers.get(group.group_id)
        if timer is not None:
            if timer.due_ms <= due_ms:
                return
            timer.call.cancel()
        wait_s = max(due_ms - self.now_ms(), 0) / 1000
        self._timers[group.group_id] = _Timer(self._clock.callLater(wait_s, self._come, group), due_ms)

    def _come(self, group: Group) -> None:
        del self._timers[group.group_id]
        if group.deadline_ms <= self.now_ms():
            self._ring(group)
        else:
            self.set(group)

    def drop(self, group_id: str) -> None:
        """Call the group no more."""
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.call.cancel()

    def stop(self) -> None:
        """Call nobody any more."""
        for group_id in list(self._timers):
            self.drop(group_id)
