"""Requests that wait for data: parked until there is enough, time runs out, or the client goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.broker.replica.partition import Partition


class ParkedFetch:
    """One fetch that waits on some partitions."""

    __slots__ = ("_deferred", "_enough", "_partitions", "_timer")

    def __init__(
        self,
        clock: IReactorTime,
        partitions: Iterable[Partition],
        max_wait_ms: int,
        enough: Callable[[], bool],
    ) -> None:
        self._partitions = tuple(partitions)
        self._enough = enough
        self._deferred: Deferred[None] = Deferred(lambda _: self._leave())
        self._timer: IDelayedCall = clock.callLater(max_wait_ms / 1000, self._end)
        for partition in self._partitions:
            partition.parked.add(self)

    def wake(self) -> None:
        """One of the partitions has more to read, or has changed."""
        if self._enough():
            self._end()

    def _end(self) -> None:
        self._leave()
        self._deferred.callback(None)

    def _leave(self) -> None:
        for partition in self._partitions:
            partition.parked.discard(self)
        if self._timer.active():
            self._timer.cancel()


def park(
    clock: IReactorTime, partitions: Iterable[Partition], max_wait_ms: int, enough: Callable[[], bool]
) -> Deferred[None]:
    """Wait until ``enough()`` is true after one of *partitions* moved, or *max_wait_ms* have passed.

    :return: fires with None in both cases; cancelling it takes the wait away.
    """
    return ParkedFetch(clock, partitions, max_wait_ms, enough)._deferred
