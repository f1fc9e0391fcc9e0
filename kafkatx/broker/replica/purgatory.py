"""Delayed fetches: they wait for data until there is enough, time runs out, or the client disconnects.

It touches the clock only. A partition keeps the fetches that wait for it and wakes them: those of consumers
when more is committed, those of followers when more is written
(:meth:`kafkatx.broker.replica.partition.Partition.wake_written`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.broker.replica.partition import Partition


class DelayedFetch:
    """A fetch that waits for data in some partitions.

    :param by_replica: True for a fetch of a follower, which reads what is not committed yet.
    :ivar done: fires with None when the wait is over; cancelling it ends the wait.
    """

    __slots__ = ("_is_enough", "_timer", "_waiting", "done")

    def __init__(
        self,
        clock: IReactorTime,
        partitions: Iterable[Partition],
        max_wait_ms: int,
        is_enough: Callable[[], bool],
        by_replica: bool = False,
    ) -> None:
        self._waiting = [one.replica_fetches if by_replica else one.delayed_fetches for one in partitions]
        self._is_enough = is_enough
        self.done: Deferred[None] = Deferred(lambda _: self._leave())
        self._timer: IDelayedCall = clock.callLater(max_wait_ms / 1000, self._end)
        for waiting in self._waiting:
            waiting.add(self)

    def wake(self) -> None:
        """End the wait if there is enough: a partition has more to read, or has changed."""
        if self._is_enough():
            self._end()

    def end(self) -> None:
        """End the wait now, with or without enough."""
        if not self.done.called:
            self._end()

    def _end(self) -> None:
        self._leave()
        self.done.callback(None)

    def _leave(self) -> None:
        for waiting in self._waiting:
            waiting.discard(self)
        if self._timer.active():
            self._timer.cancel()


def delay_fetch(
    clock: IReactorTime,
    partitions: Iterable[Partition],
    max_wait_ms: int,
    is_enough: Callable[[], bool],
    by_replica: bool = False,
) -> Deferred[None]:
    """Wait until ``is_enough()`` is true after one of *partitions* was woken, or *max_wait_ms* have passed.

    :param by_replica: True for a fetch of a follower, which reads what is not committed yet.
    :return: fires with None in both cases; cancelling it ends the wait.
    """
    return DelayedFetch(clock, partitions, max_wait_ms, is_enough, by_replica).done
