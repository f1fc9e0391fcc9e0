"""Work in a worker that ends early when its caller cancels it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from kafkatx.interfaces import Worker

T = TypeVar("T")


class Stop:
    """A flag that the reactor thread sets to stop work in a worker."""

    __slots__ = ("_stopped",)

    def __init__(self) -> None:
        self._stopped = False

    def set(self) -> None:
        """End the work at its next step."""
        self._stopped = True

    def check(self) -> None:
        """Check the flag; the work calls this between its steps.

        :raises CancelledError: the work was cancelled.
        """
        if self._stopped:
            raise CancelledError


def run_stoppable(worker: Worker, work: Callable[[Stop], T]) -> Deferred[T]:
    """Run *work* in a worker.

    :return: fires with what it returns, fails with what it raises; cancelling it ends the work at its next
        step, and keeps work that has not begun from beginning.
    """
    stop = Stop()
    done: Deferred[T] = Deferred(lambda _: stop.set())

    def run() -> T:
        stop.check()
        return work(stop)

    def ended(result: T | Failure) -> None:
        if done.called:
            return
        if isinstance(result, Failure):
            done.errback(result)
        else:
            done.callback(result)

    worker(run).addBoth(ended)
    return done
