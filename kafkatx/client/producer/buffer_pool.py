"""Back-pressure: callers wait until a producer has room."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred, fail, succeed

from kafkatx.client.producer.receipts import LostRecords, cancelled, reject_records
from kafkatx.clientcore.errors import BufferExhausted
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.forks import watch

READY_BATCHES = 5
READY_BYTES = 1 << 18
"""Free memory at which a caller of :meth:`BufferPool.wait` continues: this many batches, but at most this
many bytes and a quarter of the buffer. Continuing after each record would cost more than the record."""

OnEnqueued = Callable[[bool], None]
"""Called with True when a record was enqueued, with False when it was given up."""


class _Waiter(NamedTuple):
    """A caller that waits: for room alone, or to have *put* called with *arguments*.

    A plain tuple without closures: many may wait.

    :ivar size: how many bytes it will put in.
    :ivar receipt: a Deferred, or a ListReceipt.
    :ivar told: None: nobody wants to hear of it.
    """

    until_s: float
    size: int
    receipt: Any
    put: Callable[..., None] | None
    arguments: tuple[Any, ...]
    told: OnEnqueued | None


class BufferPool:
    """The limit of ``buffer.memory``: callers wait for memory, first in first out, for *longest_s* at most.

    While any caller waits, new callers queue behind it (``RecordAccumulator.open_below_bytes`` is 0), and
    batches do not linger, as in Apache Kafka's client. One timer serves all waiters.

    :ivar fork: the error of all calls in a fork of the process; None in the process itself.
    :param set_waiting: called with True when the first caller waits, with False when none does any more.
    """

    def __init__(
        self,
        reactor: Any,
        accumulator: RecordAccumulator,
        longest_s: float,
        lost_records: LostRecords,
        set_waiting: Callable[[bool], None] = lambda waits: None,
    ) -> None:
        self._longest_s = longest_s
        self._reactor = reactor
        self._accumulator = accumulator
        self._lost_records = lost_records
        limits = accumulator.limits
        slack = min(READY_BATCHES * limits.batch_bytes, READY_BYTES, limits.buffer_bytes // 4)
        self._ready_bytes = limits.buffer_bytes - slack
        self._set_waiting = set_waiting
        self._pressed = False
        self._waiting: deque[_Waiter] = deque()
        self._waiting_bytes = 0
        self._timer: Any = None
        self._rejected_with: KafkaTXError | None = None
        self._error: KafkaTXError | None = None
        self.fork: KafkaTXError | None = None
        watch(self)

    def __bool__(self) -> bool:
        """True if any caller is waiting."""
        return bool(self._waiting)

    def wait(self) -> Deferred[None]:
        """Wait for room: fires when there is some, at once if there is.

        Fails with BufferExhausted when the time is up, or as :meth:`close` says. The caller may send as soon
        as the Deferred fires.
        """
        if self._error is not None:
            return fail(self._error)
        if not self._waiting and not self._accumulator.full:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self._add(0, waiting, None, (), None)
        return waiting

    def reserve(
        self,
        size: int,
        receipt: Any,
        put: Callable[..., None],
        arguments: tuple[Any, ...],
        told: OnEnqueued | None,
    ) -> None:
        """Have *put* called when there is room, unless the receipt's Deferred was cancelled by then.

        :param size: how many bytes it puts in.
        :param receipt: is told if it is not put in.
        :raises KafkaTXError: it will not be: :meth:`reject_new` was called, or no caller may wait.
        """
        self.check()
        if not self._longest_s:
            raise self.exhausted_error("max.block.ms is 0: wait for Producer.ready() before you send more")
        self._add(size, receipt, put, arguments, told)

    def check(self) -> None:
        """Raise the error of :meth:`reject_new`, if it was called."""
        if self._rejected_with is not None:
            raise self._rejected_with

    def _add(
        self, size: int, receipt: Any, put: Callable[..., None] | None, arguments: tuple[Any, ...], told: Any
    ) -> None:
        until_s = self._reactor.seconds() + self._longest_s
        self._waiting.append(_Waiter(until_s, size, receipt, put, arguments, told))
        self._waiting_bytes += size
        if self._timer is None:
            self._timer = self._reactor.callLater(self._longest_s, self._expire_waiters)
        self._waiting_changed()

    async def wait_until_admitted(self) -> None:
        """Wait until all that wait now are in, or have given up."""
        if self._waiting:
            with suppress(KafkaTXError):
                await self.wait()

    def forked(self, error: KafkaTXError) -> None:
        """Fail all callers in a fork of the process; see :mod:`kafkatx.networkclient.forks`."""
        self.fork = self._rejected_with = self._error = error
        self._accumulator.open_below_bytes = 0
        self._waiting.clear()

    def reject_new(self, error: KafkaTXError) -> None:
        """Reject new callers with *error*; those that wait may still be admitted."""
        self._rejected_with = error
        self._waiting_changed()

    def admit(self) -> None:
        """Admit as many callers as there is room for, after records were settled.

        Each may send at once, and fill it again.
        """
        if not self._waiting:
            return
        accumulator = self._accumulator
        while self._waiting and not accumulator.full:
            if self._waiting[0].put is None and accumulator.used_bytes > self._ready_bytes:
                break
            waiter = self._next()
            if cancelled(waiter.receipt):
                self._call_told(waiter, False)
                continue
            self._set_open(self._rejected_with is None)
            self._admit(waiter)
        self._waiting_changed()

    def _admit(self, waiter: _Waiter) -> None:
        if waiter.put is None:
            waiter.receipt.callback(None)
            return
        try:
            waiter.put(*waiter.arguments)
        except Exception as error:
            reject_records(waiter.receipt, error, self._lost_records)
            self._call_told(waiter, False)
        else:
            self._call_told(waiter, True)

    def _call_told(self, waiter: _Waiter, added: bool) -> None:
        if waiter.told is not None:
            waiter.told(added)

    def _next(self) -> _Waiter:
        waiter = self._waiting.popleft()
        self._waiting_bytes -= waiter.size
        return waiter

    def _waiting_changed(self) -> None:
        """Keep waiters in first-in, first-out order: nobody overtakes them."""
        waits = bool(self._waiting)
        self._set_open(not waits and self._rejected_with is None)
        if waits != self._pressed:
            self._pressed = waits
            self._set_waiting(waits)

    def _set_open(self, freely: bool) -> None:
        self._accumulator.open_below_bytes = self._accumulator.limits.buffer_bytes if freely else 0

    def _expire_waiters(self) -> None:
        self._timer = None
        now = self._reactor.seconds()
        late = []
        while self._waiting and self._waiting[0].until_s <= now:
            late.append(self._next())
        error = self.exhausted_error(f"none came within {self._longest_s:g} s (max.block.ms)")
        self._waiting_changed()
        self._fail(late, error)
        if self._waiting and self._timer is None:
            self._timer = self._reactor.callLater(
                max(0.0, self._waiting[0].until_s - now), self._expire_waiters
            )

    def _fail(self, waiters: list[_Waiter], error: KafkaTXError) -> None:
        for waiter in waiters:
            reject_records(waiter.receipt, error, self._lost_records)
            self._call_told(waiter, False)

    def exhausted_error(self, advice: str) -> BufferExhausted:
        """The error of a caller that found no room."""
        used, limit = self._accumulator.used_bytes, self._accumulator.limits.buffer_bytes
        others = f", {self._waiting_bytes} more wait" if self._waiting_bytes else ""
        return BufferExhausted(
            f"no room: {used} bytes are on their way{others}, buffer.memory is {limit}; {advice}"
        )

    def close(self, error: KafkaTXError) -> None:
        """Fail all that wait, and all that will, with *error*."""
        self._error = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiters = [self._next() for _ in range(len(self._waiting))]
        self._fail(waiters, error)
        self._waiting_changed()
