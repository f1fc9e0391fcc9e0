"""Changes of the cluster's metadata for one request, one after the other, as long as they are made in time.

While ZooKeeper does not answer, each change takes as long as the metadata store waits: a request with a
thousand of them would be answered after hours. It touches nothing itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kafkatx.errors import ErrorCode, RequestError

T = TypeVar("T")


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
