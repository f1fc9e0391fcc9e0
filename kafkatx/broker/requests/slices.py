"""Time slices for long work: other clients are answered between two slices. It touches the clock only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Cooperator, TaskStopped, deferLater
from twisted.python.failure import Failure

S = TypeVar("S")
T = TypeVar("T")

AT_ONCE = 1000
"""Lists up to this length are answered without a pause."""

STEP = 50
"""Answers that are made in one step of a slice."""


class Slices:
    """Makes long lists of answers in slices of 10 ms; lists in progress take turns."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._cooperator = Cooperator(scheduler=partial(clock.callLater, 0))

    def each(self, items: Collection[S], make: Callable[[S], T]) -> list[T] | Deferred[list[T]]:
        """Return what *make* gives for each of *items*.

        :return: a Deferred for more than ``AT_ONCE`` of them. Cancelling it ends the work.
        """
        if len(items) <= AT_ONCE:
            return [make(item) for item in items]
        made: list[T] = []
        return self.run(_steps(items, make, made), made)

    def pause(self) -> Deferred[None]:
        """Wait for the reactor's next turn, in a loop over the items of a request."""
        return deferLater(self._clock, 0)

    def run(self, steps: Iterator[None], result: T) -> Deferred[T]:
        """Run *steps* to their end in slices, beginning with the reactor's next turn.

        :return: fires with *result*. Cancelling it ends the work before the next step.
        """
        task = self._cooperator.cooperate(steps)
        done: Deferred[T] = Deferred(lambda _: task.stop())

        def ended(end: object) -> None:
            if not isinstance(end, Failure):
                done.callback(result)
            elif not end.check(TaskStopped):
                done.errback(end)

        task.whenDone().addBoth(ended)
        return done


def _steps(items: Collection[S], make: Callable[[S], T], made: list[T]) -> Iterator[None]:
    for number, item in enumerate(items):
        made.append(make(item))
        if number % STEP == 0:
            yield
