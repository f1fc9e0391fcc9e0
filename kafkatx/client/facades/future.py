"""An asyncio future made from a Deferred."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


class DeferredFuture(asyncio.Future[T]):
    """A future with the result of a Deferred. Cancelling it cancels the Deferred at once."""

    def __init__(self, deferred: Deferred[T]) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self._deferred = deferred
        deferred.addCallbacks(self._succeed, self._fail)

    def _succeed(self, result: T) -> None:
        if not self.done():
            self.set_result(result)

    def _fail(self, failure: Failure) -> None:
        if self.done():
            return
        if failure.check(CancelledError):
            super().cancel()
        elif failure.value is not None:
            self.set_exception(failure.value)

    def cancel(self, msg: object = None) -> bool:
        """Cancel the future and the Deferred; return False if it is done already."""
        done = not super().cancel(msg)
        if not done:
            self._deferred.cancel()
        return not done
