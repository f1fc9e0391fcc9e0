"""Calls that threads hand to the reactor's thread, many at a time: waking it costs more than a record."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.client.producer.receipts import CallbackReceipt, LostRecords, OnDelivery, reject_records
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.forks import check_process
from kafkatx.networkclient.waiters import Waiters

CALLS = 1000
"""So many may wait; then whoever wants to hand over more waits too."""

T = TypeVar("T")

_Call: TypeAlias = (
    "tuple[Callable[[], Deferred[Any]], Future[Any]]"
    " | tuple[Callable[..., None], tuple[Any, ...], OnDelivery | None]"
)
"""A call with its outcome; or one that gives nothing, its arguments, and what hears of a failure."""


class CallQueue:
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
        self._calls: list[_Call] = []
        self._lost_records = LostRecords()
        self._pid = os.getpid()
        self._awake = False
        self._closed = False
        self._rested: Waiters[None] = Waiters()

    def put(self, call: Callable[[], Deferred[T]]) -> Future[T]:
        """Have a call made soon; waits while too many are not made yet.

        :return: gets what the Deferred gives. Cancelling it works until the call is made.
        :raises ClientClosed: :meth:`close` was called.
        :raises ForkedClient: this is a fork of the process that made it.
        """
        outcome: Future[T] = Future()
        self._add((call, outcome))
        return outcome

    def tell(
        self, call: Callable[..., None], arguments: tuple[Any, ...], on_delivery: OnDelivery | None
    ) -> None:
        """Have a call made soon that gives nothing; otherwise as :meth:`put`.

        :param on_delivery: hears what the call raised, or why it was not made; None: :meth:`check` tells.
        """
        self._add((call, arguments, on_delivery))

    def check(self) -> None:
        """In the reactor's thread: raise RecordsLost if calls of :meth:`tell` failed since the last time."""
        lost = self._lost_records.take()
        if lost is not None:
            raise lost

    def _add(self, call: _Call) -> None:
        check_process(self._pid)
        with self._changed:
            if len(self._calls) >= CALLS:
                self._changed.wait_for(lambda: len(self._calls) < CALLS or self._closed)
            if self._closed:
                raise ClientClosed("the producer is closed")
            self._calls.append(call)
            if not self._awake:
                self._awake = True
                self._reactor.callFromThread(self._make)

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

    async def _make_these(self, calls: list[_Call]) -> None:
        error: KafkaTXError | None = None
        for call in calls:
            if len(call) == 2 and not call[1].set_running_or_notify_cancel():
                continue
            if error is None:
                try:
                    await self._ready()
                except KafkaTXError as failed:
                    error = failed  # all of them have waited as long
            if len(call) == 2:
                _put(call[0], call[1], error)
            else:
                self._tell(*call, error)

    def _tell(
        self,
        call: Callable[..., None],
        arguments: tuple[Any, ...],
        on_delivery: OnDelivery | None,
        error: Exception | None,
    ) -> None:
        if error is None:
            try:
                call(*arguments)
            except Exception as raised:
                error = raised
        if error is not None:
            reject_records(
                None if on_delivery is None else CallbackReceipt(on_delivery), error, self._lost_records
            )


def _put(call: Callable[[], Deferred[Any]], outcome: Future[Any], error: KafkaTXError | None) -> None:
    if error is not None:
        outcome.set_exception(error)
    else:
        call().addCallbacks(outcome.set_result, lambda failure: outcome.set_exception(failure.value))
