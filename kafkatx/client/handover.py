"""Calls that threads hand to the reactor's thread, many at a time: waking it costs more than a record."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.client.waiting import Waiters
from kafkatx.clientside.errors import ClientClosed
from kafkatx.errors import KafkaTXError

CALLS = 1000
"""So many may wait; then whoever wants to hand over more waits too."""

T = TypeVar("T")


class Handover:
    """A queue of calls to a producer.

    Those of one thread are made in order. None is made while the producer has no room.
    """

    def __init__(self, reactor: Any, ready: Callable[[], Deferred[None]]) -> None:
        """Make it.

        :param ready: gives a Deferred that fires when there is room, or fails as the calls shall fail then.
        """
        self._reactor = reactor
        self._ready = ready
        self._changed = threading.Condition()
        self._calls: list[tuple[Callable[[], Deferred[Any]], Future[Any]]] = []
        self._awake = False
        self._closed = False
        self._rested: Waiters[None] = Waiters()

    def put(self, call: Callable[[], Deferred[T]]) -> Future[T]:
        """Have a call made soon; waits while too many are not made yet.

        :return: gets what the Deferred gives. Cancelling it works until the call is made.
        :raises ClientClosed: :meth:`close` was called.
        """
        outcome: Future[T] = Future()
        with self._changed:
            self._changed.wait_for(lambda: len(self._calls) < CALLS or self._closed)
            if self._closed:
                raise ClientClosed("the producer is closed")
            self._calls.append((call, outcome))
            if not self._awake:
                self._awake = True
                self._reactor.callFromThread(self._make)
        return outcome

    def rest(self) -> Deferred[None]:
        """In the reactor's thread: fires when all calls that were handed over are made."""
        waiting = self._rested.wait()
        with self._changed:
            resting = not self._awake
        if resting:
            self._rested.fire(None)
        return waiting

    def close(self) -> None:
        """Take no more calls."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _make(self) -> None:
        Deferred.fromCoroutine(self._make_all())

    async def _make_all(self) -> None:
        while True:
            with self._changed:
                calls, self._calls = self._calls, []
                self._awake = bool(calls)
                self._changed.notify_all()
            if not calls:
                self._rested.fire(None)
                return
            await self._make_these(calls)

    async def _make_these(self, calls: list[tuple[Callable[[], Deferred[Any]], Future[Any]]]) -> None:
        error: KafkaTXError | None = None
        for call, outcome in calls:
            if not outcome.set_running_or_notify_cancel():
                continue
            if error is None:
                try:
                    await self._ready()
                except KafkaTXError as failed:
                    error = failed  # all of them have waited as long
            if error is not None:
                outcome.set_exception(error)
                continue
            call().addCallbacks(outcome.set_result, _failing(outcome))


def _failing(outcome: Future[Any]) -> Callable[[Any], None]:
    return lambda failure: outcome.set_exception(failure.value)
