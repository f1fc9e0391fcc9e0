"""Delayed fetches: they wait for data until there is enough, time runs out, or the client disconnects.

It touches the clock only. A partition keeps the fetches that wait for it and wakes them
(:meth:`kafkatx.broker.replica.partition.Partition.wake`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.broker.replica.partition import Partition


class DelayedFetch:
    """A fetch that waits for data in some partitions.

    :ivar done: fires with None when the wait is over; cancelling it ends the wait.
    """

    __slots__ = ("_is_enough", "_partitions", "_timer", "done")

    def __init__(
        self,
        clock: IReactorTime,
        partitions: Iterable[Partition],
        max_wait_ms: int,
        is_enough: Callable[[], bool],
    ) -> None:
        self._partitions = tuple(partitions)
        self._is_enough = is_enough
        self.done: Deferred[None] = Deferred(lambda _: self._leave())
        self._timer: IDelayedCall = clock.callLater(max_wait_ms / 1000, self._end)
        for partition in self._partitions:
            partition.delayed_fetches.add(self)

    def wake(self) -> None:
        """End the wait if there is enough: a partition has more to read, or has changed."""
        if self._is_enough():
            self._end()

    def _end(self) -> None:
        self._leave()
        self.done.callback(None)

    def _leave(self) -> None:
        for partition in self._partitions:
            partition.delayed_fetches.discard(self)
        if self._timer.active():
            self._timer.cancel()


def delay_fetch(
    clock: IReactorTime, partitions: Iterable[Partition], max_wait_ms: int, is_enough: Callable[[], bool]
) -> Deferred[None]:
    """Wait until ``is_enough()`` is true after one of *partitions* was woken, or *max_wait_ms* have passed.

    :return: fires with None in both cases; cancelling it ends the wait.
    """
    return DelayedFetch(clock, partitions, max_wait_ms, is_enough).done
