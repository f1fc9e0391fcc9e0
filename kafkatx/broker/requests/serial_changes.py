"""Changes of the cluster's metadata for one request, some at a time, as long as they are made in time.

Those that are made together share what they bring to the disk. While ZooKeeper does not answer, each change
takes as long as the metadata store waits: a request with a thousand of them, one after the other, would be
answered after hours. It touches nothing itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from twisted.internet.defer import Deferred, gatherResults

from kafkatx.broker.requests.slices import STEP
from kafkatx.errors import ErrorCode, RequestError

T = TypeVar("T")

AT_ONCE = 100


class SerialChanges:
    """Makes changes until one is not made in time; all later ones are refused with its error."""

    def __init__(self) -> None:
        self._late: RequestError | None = None

    async def make(self, change: Callable[[], Awaitable[T]]) -> T:
        """Make a change.

        :raises RequestError: as *change* does; REQUEST_TIMED_OUT if an earlier one has.
        """
        if self._late is not None:
            raise self._late
        try:
            return await change()
        except RequestError as error:
            if error.code == ErrorCode.REQUEST_TIMED_OUT:
                self._late = error
            raise

    async def make_all(
        self, changes: Sequence[Callable[[], Awaitable[T]]], pause: Callable[[], Awaitable[object]]
    ) -> list[T | RequestError]:
        """Make changes that do not depend on each other, :data:`AT_ONCE` at a time, begun in order.

        :param pause: waits for its turn between some of them.
        :return: the outcomes, in order.
        """
        outcomes: list[T | RequestError] = []
        making: list[Deferred[T | RequestError]] = []
        for number, change in enumerate(changes):
            if number % STEP == STEP - 1:
                await pause()
            if len(making) == AT_ONCE:
                outcomes += await gatherResults(making, consumeErrors=True)
                making = []
            making.append(Deferred.fromCoroutine(self._outcome(change)))
        return outcomes + await gatherResults(making, consumeErrors=True)

    async def _outcome(self, change: Callable[[], Awaitable[T]]) -> T | RequestError:
        try:
            return await self.make(change)
        except RequestError as error:
            return error
