"""A queue of calls from other threads to the reactor's thread, which makes many per wake-up.

Waking the reactor costs more than sending a record.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads

from kafkatx.client.producer.receipts import CallbackReceipt, LostRecords, OnDelivery, reject_records
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.forks import check_process
from kafkatx.networkclient.waiters import Waiters

CALLS = 1000
"""The number of queued calls at which callers block."""

T = TypeVar("T")

_Call: TypeAlias = (
    "tuple[Callable[[], Deferred[Any]], Future[Any]]"
    " | tuple[Callable[..., None], tuple[Any, ...], OnDelivery | None]"
)
"""A call and the future of its result; or a call without a result, its arguments, and an error callback."""


class CallQueue:
    """A queue of calls to a producer.

    The calls of one thread are made in order. None is made while ``buffer.memory`` is used up.
    """

    def __init__(self, reactor: IReactorFromThreads, ready: Callable[[], Deferred[None]]) -> None:
        """Make an empty queue.

        :param ready: returns a Deferred that fires when memory is free, or fails with the error for the
            calls.
        """
        self._reactor = reactor
        self._ready = ready
        self._changed = threading.Condition()
        self._calls: list[_Call] = []
        self._lost_records = LostRecords()
        self._pid = os.getpid()
        self._awake = False
        self._closed = False
        self._empty: Waiters[None] = Waiters()

    def put(self, call: Callable[[], Deferred[T]]) -> Future[T]:
        """Queue a call; block while the queue is full.

        :return: a future of the Deferred's result. It can be cancelled until the call is made.
        :raises ClientClosed: :meth:`close` was called.
        :raises ForkedClient: this is a fork of the process that made the queue.
        """
        outcome: Future[T] = Future()
        self._add((call, outcome))
        return outcome

    def tell(
        self, call: Callable[..., None], arguments: tuple[Any, ...], on_delivery: OnDelivery | None
    ) -> None:
        """Queue a call without a result; otherwise as :meth:`put`.

        :param on_delivery: called with the call's exception, or with the reason why it was not made; None:
            :meth:`check` raises RecordsLost.
        """
        self._add((call, arguments, on_delivery))

    def check(self) -> None:
        """Raise RecordsLost if calls of :meth:`tell` have failed since the last time.

        To be called in the reactor's thread.
        """
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

    def wait_until_empty(self) -> Deferred[None]:
        """Wait until all queued calls are made; fires then.

        To be called in the reactor's thread.
        """
        waiting = self._empty.wait()
        with self._changed:
            empty = not self._awake
        if empty:
            self._empty.fire(None)
        return waiting

    def close(self) -> None:
        """Accept no more calls."""
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
                self._empty.fire(None)
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
                    error = failed  # of all these calls: they have waited equally long
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
