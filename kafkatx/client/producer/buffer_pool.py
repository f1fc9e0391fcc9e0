"""Back-pressure: callers wait while ``buffer.memory`` is used up. Touches timers.

:class:`kafkatx.clientcore.producer.accumulator.RecordAccumulator` counts the bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from kafkatx.client.producer.receipts import AnyReceipt, LostRecords, cancelled, reject_records
from kafkatx.clientcore.errors import BufferExhausted
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.forks import watch

READY_BATCHES = 5
READY_BYTES = 1 << 18
"""Free memory at which a caller of :meth:`BufferPool.wait` continues: this many batches, but at most this
many bytes and a quarter of the buffer. Continuing after each record would cost more than the record."""

OnEnqueued = Callable[[bool], None]
"""Called with True when a record was enqueued, with False when it was rejected."""

Put = Callable[..., None]
"""Puts records into the accumulator, for example :meth:`TopicQueues.put`."""


class _Waiter(NamedTuple):
    """A waiting caller. A plain tuple without closures, because there may be many.

    :ivar deadline_s: the time at which it fails.
    :ivar size: the bytes that *put* adds to the accumulator; 0 for a caller of :meth:`BufferPool.wait`.
    """

    deadline_s: float
    size: int
    receipt: AnyReceipt
    put: Put
    arguments: tuple[object, ...]
    on_enqueued: OnEnqueued | None


class BufferPool:
    """The limit of ``buffer.memory``: callers wait for memory in order, for *max_block_s* at most.

    While any caller waits, new callers queue behind it (``RecordAccumulator.open_below_bytes`` is 0), and
    batches do not linger, as in Apache Kafka's client. One timer serves all waiters.

    :ivar fork: the error of all calls in a fork of the process; None in the process itself.
    :param max_block_s: the longest wait in seconds; 0: callers fail at once.
    :param set_waiting: called with True when the first caller waits, with False when none does any more.
    """

    def __init__(
        self,
        reactor: IReactorTime,
        accumulator: RecordAccumulator,
        max_block_s: float,
        lost_records: LostRecords,
        set_waiting: Callable[[bool], None] = lambda waits: None,
    ) -> None:
        self._max_block_s = max_block_s
        self._reactor = reactor
        self._accumulator = accumulator
        self._lost_records = lost_records
        limits = accumulator.limits
        slack = min(READY_BATCHES * limits.batch_bytes, READY_BYTES, limits.buffer_bytes // 4)
        self._ready_bytes = limits.buffer_bytes - slack
        self._set_waiting = set_waiting
        self._is_waiting = False
        self._waiting: deque[_Waiter] = deque()
        self._waiting_bytes = 0
        self._timer: IDelayedCall | None = None
        self._rejected_with: KafkaTXError | None = None
        self._closed_with: KafkaTXError | None = None
        self.fork: KafkaTXError | None = None
        watch(self)

    def __bool__(self) -> bool:
        """Return True if any caller is waiting."""
        return bool(self._waiting)

    def wait(self) -> Deferred[None]:
        """Wait until some of ``buffer.memory`` is free; fires at once if it is.

        Fails with BufferExhausted after *max_block_s*, or with the error of :meth:`close`. The caller may
        send as soon as the Deferred fires.
        """
        if self._closed_with is not None:
            return fail(self._closed_with)
        if not self._waiting and not self._accumulator.full:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self._add(_Waiter(self._deadline_s(), 0, waiting, waiting.callback, (None,), None))
        return waiting

    def reserve(
        self,
        size: int,
        receipt: AnyReceipt,
        put: Put,
        arguments: tuple[object, ...],
        on_enqueued: OnEnqueued | None,
    ) -> None:
        """Call *put* when memory is free, unless the receipt's Deferred was cancelled by then.

        :param size: the bytes that *put* adds.
        :param receipt: fails if *put* is not called.
        :raises KafkaTXError: after :meth:`reject_new`; BufferExhausted if ``max.block.ms`` is 0.
        """
        self.check()
        if not self._max_block_s:
            raise self.exhausted_error("max.block.ms is 0: wait for Producer.ready() before you send more")
        self._add(_Waiter(self._deadline_s(), size, receipt, put, arguments, on_enqueued))

    def check(self) -> None:
        """Raise the error of :meth:`reject_new`, if it was called."""
        if self._rejected_with is not None:
            raise self._rejected_with

    def _deadline_s(self) -> float:
        return self._reactor.seconds() + self._max_block_s

    def _add(self, waiter: _Waiter) -> None:
        self._waiting.append(waiter)
        self._waiting_bytes += waiter.size
        if self._timer is None:
            self._timer = self._reactor.callLater(self._max_block_s, self._expire_waiters)
        self._waiting_changed()

    async def wait_until_admitted(self) -> None:
        """Wait until all callers that wait now are admitted or have failed."""
        if self._waiting:
            with suppress(KafkaTXError):
                await self.wait()

    def forked(self, error: KafkaTXError) -> None:
        """Fail all callers in a fork of the process; see :mod:`kafkatx.networkclient.forks`."""
        self.fork = self._rejected_with = self._closed_with = error
        self._accumulator.open_below_bytes = 0
        self._waiting.clear()

    def reject_new(self, error: KafkaTXError | None) -> None:
        """Reject new callers of :meth:`reserve` with *error*; those that wait may still be admitted.

        :param error: None: accept them again.
        """
        self._rejected_with = error
        self._waiting_changed()

    def admit(self) -> None:
        """Admit as many callers as memory is free for; to be called after records were settled.

        A caller may send at once, and use the memory up again.
        """
        if not self._waiting:
            return
        accumulator = self._accumulator
        while self._waiting and not accumulator.full:
            if not self._waiting[0].size and accumulator.used_bytes > self._ready_bytes:
                break
            waiter = self._pop()
            if cancelled(waiter.receipt):
                _call_on_enqueued(waiter, False)
                continue
            self._set_open(self._rejected_with is None)
            self._admit(waiter)
        self._waiting_changed()

    def _admit(self, waiter: _Waiter) -> None:
        try:
            waiter.put(*waiter.arguments)
        except Exception as error:
            reject_records(waiter.receipt, error, self._lost_records)
            _call_on_enqueued(waiter, False)
        else:
            _call_on_enqueued(waiter, True)

    def _pop(self) -> _Waiter:
        waiter = self._waiting.popleft()
        self._waiting_bytes -= waiter.size
        return waiter

    def _waiting_changed(self) -> None:
        """Close the direct way into the accumulator while callers wait, so that none is overtaken."""
        waiting = bool(self._waiting)
        self._set_open(not waiting and self._rejected_with is None)
        if waiting != self._is_waiting:
            self._is_waiting = waiting
            self._set_waiting(waiting)

    def _set_open(self, is_open: bool) -> None:
        self._accumulator.open_below_bytes = self._accumulator.limits.buffer_bytes if is_open else 0

    def _expire_waiters(self) -> None:
        self._timer = None
        now = self._reactor.seconds()
        late = []
        while self._waiting and self._waiting[0].deadline_s <= now:
            late.append(self._pop())
        error = self.exhausted_error(f"none became free within {self._max_block_s:g} s (max.block.ms)")
        self._waiting_changed()
        self._fail(late, error)
        if self._waiting and self._timer is None:
            pause_s = max(0.0, self._waiting[0].deadline_s - now)
            self._timer = self._reactor.callLater(pause_s, self._expire_waiters)

    def _fail(self, waiters: list[_Waiter], error: KafkaTXError) -> None:
        for waiter in waiters:
            reject_records(waiter.receipt, error, self._lost_records)
            _call_on_enqueued(waiter, False)

    def exhausted_error(self, advice: str) -> BufferExhausted:
        """Return the error of a caller that found no free memory."""
        used, limit = self._accumulator.used_bytes, self._accumulator.limits.buffer_bytes
        others = f", {self._waiting_bytes} more bytes wait" if self._waiting_bytes else ""
        return BufferExhausted(
            f"no memory is free: {used} bytes are not sent yet{others}, buffer.memory is {limit}; {advice}"
        )

    def close(self, error: KafkaTXError) -> None:
        """Fail all waiting and all later callers with *error*."""
        self._closed_with = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.fail_waiting(error)

    def fail_waiting(self, error: KafkaTXError) -> None:
        """Fail all callers whose records wait; callers of :meth:`wait` may go on."""
        waiters = [self._pop() for _ in range(len(self._waiting))]
        self._fail(waiters, error)
        self._waiting_changed()


def _call_on_enqueued(waiter: _Waiter, enqueued: bool) -> None:
    if waiter.on_enqueued is not None:
        waiter.on_enqueued(enqueued)
