"""Back-pressure: who wants to send waits until a producer has room."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from kafkatx.clientside.accumulator import Accumulator
from kafkatx.clientside.errors import BufferExhausted
from kafkatx.errors import KafkaTXError


class _Waiter(NamedTuple):
    """``size``: how many bytes it will put in."""

    deferred: Deferred[None]
    until_s: float
    size: int


class Room:
    """Those who wait, first come first served, each for *longest_s* at most.

    While somebody waits nobody else passes without asking here (:attr:`Accumulator.open_below`), and nothing
    lingers: the batches that others wait for are sent at once, as by Apache Kafka's client. There is one
    timer for all of them, as somebody waits most of the time where much is sent.

    :param press: called with True when somebody waits, with False when nobody does any more.
    """

    def __init__(
        self,
        reactor: Any,
        accumulator: Accumulator,
        longest_s: float,
        press: Callable[[bool], None] = lambda waits: None,
    ) -> None:
        self._longest_s = longest_s
        self._reactor = reactor
        self._accumulator = accumulator
        self._press = press
        self._pressed = False
        self._waiting: deque[_Waiter] = deque()
        self._waiting_bytes = 0
        self._timer: Any = None
        self._shut: KafkaTXError | None = None
        self._error: KafkaTXError | None = None

    def __bool__(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def wait(self, size: int = 0) -> Deferred[None]:
        """Fires when there is room, at once if there is.

        Fails with BufferExhausted when the time is up, or as :meth:`close` says. Who was called then may send
        at once.
        """
        if self._error is not None:
            return fail(self._error)
        if not self._waiting and not self._accumulator.full:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self._waiting.append(_Waiter(waiting, self._reactor.seconds() + self._longest_s, size))
        self._waiting_bytes += size
        if self._timer is None:
            self._timer = self._reactor.callLater(self._longest_s, self._look)
        self._mind()
        return waiting

    def enter(
        self, size: int, waiting: Deferred[Any], put: Callable[..., None], *arguments: Any
    ) -> Deferred[bool]:
        """Have something put in when there is room, unless *waiting* was cancelled by then.

        :param size: how much room it takes.
        :param waiting: is told why it is not put in.
        :return: fires with whether it is.
        :raises KafkaTXError: it will not be: :meth:`shut` was called, or nobody may wait.
        """
        if self._shut is not None:
            raise self._shut
        if not self._longest_s:
            raise self.exhausted("max.block.ms is 0: wait for Producer.ready() before you send more")

        def enter(_: None) -> bool:
            if waiting.called:
                return False
            put(*arguments)
            return True

        def failed(failure: Failure) -> bool:
            if not waiting.called:
                waiting.errback(failure)
            return False

        return self.wait(size).addCallback(enter).addErrback(failed)

    async def entered(self) -> None:
        """Wait until all who wait now are in, or have given up."""
        if self._waiting:
            with suppress(KafkaTXError):
                await self.wait()

    def shut(self, error: KafkaTXError) -> None:
        """From now on who wants to enter fails with *error*; who waits may yet."""
        self._shut = error
        self._mind()

    def relieve(self) -> None:
        """Records were settled: let in as many as there is room for.

        Each may send at once, and fill it again.
        """
        if not self._waiting:
            return
        while self._waiting and not self._accumulator.full:
            waiting = self._next()
            if not waiting.called:  # else it was cancelled
                self._let_pass(self._shut is None)
                waiting.callback(None)
        self._mind()

    def _next(self) -> Deferred[None]:
        waiter = self._waiting.popleft()
        self._waiting_bytes -= waiter.size
        return waiter.deferred

    def _mind(self) -> None:
        """See to it that nobody overtakes those who wait."""
        waits = bool(self._waiting)
        self._let_pass(not waits and self._shut is None)
        if waits != self._pressed:
            self._pressed = waits
            self._press(waits)

    def _let_pass(self, freely: bool) -> None:
        self._accumulator.open_below = self._accumulator.limits.buffer_bytes if freely else 0

    def _look(self) -> None:
        self._timer = None
        now = self._reactor.seconds()
        late = []
        while self._waiting and self._waiting[0].until_s <= now:
            late.append(self._next())
        error = self.exhausted(f"none came within {self._longest_s:g} s (max.block.ms)")
        self._mind()
        for waiting in late:
            if not waiting.called:
                waiting.errback(error)
        if self._waiting and self._timer is None:
            self._timer = self._reactor.callLater(max(0.0, self._waiting[0].until_s - now), self._look)

    def exhausted(self, advice: str) -> BufferExhausted:
        """The error of one who found no room."""
        used, limit = self._accumulator.used_bytes, self._accumulator.limits.buffer_bytes
        others = f", {self._waiting_bytes} more wait" if self._waiting_bytes else ""
        return BufferExhausted(
            f"no room: {used} bytes are on their way{others}, buffer.memory is {limit}; {advice}"
        )

    def close(self, error: KafkaTXError) -> None:
        """Who waits, and who will, fails with *error*."""
        self._error = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            waiting = self._next()
            if not waiting.called:
                waiting.errback(error)
        self._mind()
