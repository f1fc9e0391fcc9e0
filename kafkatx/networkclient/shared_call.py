"""Coroutines that concurrent callers share: it runs once, and all of them get its result."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from kafkatx.networkclient.waiters import Waiters

T = TypeVar("T")


class SharedCall(Generic[T]):
    """Runs at most one coroutine per key at a time; callers that come while it runs share its result."""

    def __init__(self) -> None:
        self._running: dict[Hashable, tuple[Waiters[T], Deferred[None]]] = {}

    def wait(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, T]]) -> Deferred[T]:
        """Start the coroutine for *key* if none runs; fires or fails as it ends.

        Cancelling the Deferred does not cancel the coroutine.
        """
        if key in self._running:
            return self._running[key][0].wait()
        waiters: Waiters[T] = Waiters()
        waiting = waiters.wait()
        self._running[key] = waiters, Deferred()  # it may end before fromCoroutine() returns
        running = Deferred.fromCoroutine(self._run(key, start(), waiters))
        if key in self._running:
            self._running[key] = waiters, running
        return waiting

    async def _run(self, key: Hashable, work: Coroutine[Any, Any, T], waiters: Waiters[T]) -> None:
        try:
            result = await work
        except CancelledError:
            raise
        except Exception:
            self._running.pop(key, None)
            waiters.fail(Failure())
        else:
            self._running.pop(key, None)
            waiters.fire(result)

    def close(self, error: Exception) -> None:
        """Cancel all coroutines; their callers fail with *error*."""
        running, self._running = self._running, {}
        for waiters, work in running.values():
            work.addErrback(lambda failure: failure.trap(CancelledError))
            work.cancel()
            waiters.fail(error)
