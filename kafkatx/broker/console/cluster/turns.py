"""Long walks in turns of some milliseconds, between which the broker does its work. They touch the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.log.group_commit import GroupCommit

T = TypeVar("T")

TURN_S = 0.002
"""Seconds that a walk takes in one turn of the reactor."""

SHARE = 1 / 40
"""The part of the time that finding a value out may take."""

STEP = 50
"""Items between two looks at the clock."""


class Turns:
    """The turns of a walk."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._began_s = clock.seconds()
        self._count = 0

    async def step(self, size: int = 1) -> None:
        """Take note that *size* items were dealt with; wait if the turn has ended."""
        self._count += size
        if self._count < STEP:
            return
        self._count = 0
        if self._clock.seconds() - self._began_s >= TURN_S:
            await deferLater(self._clock, 0)
            self._began_s = self._clock.seconds()


class Kept(Generic[T]):
    """A value that is found out at most once in a while, for all who ask.

    :param find: finds it out.
    :param kept_s: seconds for which it is kept; longer if finding it has taken long, so that this takes at
        most :data:`SHARE` of the time.
    """

    def __init__(self, find: Callable[[], Any], clock: IReactorTime, kept_s: float) -> None:
        self._find = find
        self._clock = clock
        self._kept_s = kept_s
        self._ends_s = -1.0
        self._value: T | None = None
        self._running = GroupCommit(lambda: Deferred.fromCoroutine(self._run()))

    def get(self) -> Deferred[T]:
        """Return the value; cancelling the Deferred ends the waiting only."""
        if self._value is not None and self._clock.seconds() < self._ends_s:
            return succeed(self._value)
        return self._running.join(covered=True)

    async def _run(self) -> T:
        began_s = self._clock.seconds()
        self._value = value = await self._find()
        ended_s = self._clock.seconds()
        self._ends_s = ended_s + max(self._kept_s, (ended_s - began_s) / SHARE)
        found: T = value
        return found


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of at most *size* items."""
    found: list[T] = []
    for item in items:
        found.append(item)
        if len(found) == size:
            yield found
            found = []
    if found:
        yield found
