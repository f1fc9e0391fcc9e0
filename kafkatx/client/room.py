"""Back-pressure: who wants to send waits until a producer has room."""

from __future__ import annotations

from collections import deque
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from kafkatx.clientside.accumulator import Accumulator
from kafkatx.clientside.errors import BufferExhausted
from kafkatx.errors import KafkaTXError


class Room:
    """Those who wait, first come first served, each for *longest_s* at most.

    There is one timer for all of them, as somebody waits most of the time where much is sent.
    """

    def __init__(self, reactor: Any, accumulator: Accumulator, longest_s: float) -> None:
        self._reactor = reactor
        self._accumulator = accumulator
        self._longest_s = longest_s
        self._waiting: deque[tuple[Deferred[None], float]] = deque()
        self._timer: Any = None
        self._error: KafkaTXError | None = None

    def __bool__(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def wait(self) -> Deferred[None]:
        """Fires when there is room, at once if there is.

        Fails with BufferExhausted when the time is up, or as :meth:`close` says.
        """
        if self._error is not None:
            return fail(self._error)
        if not self._waiting and not self._accumulator.full:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self._waiting.append((waiting, self._reactor.seconds() + self._longest_s))
        if self._timer is None:
            self._timer = self._reactor.callLater(self._longest_s, self._look)
        return waiting

    def relieve(self) -> None:
        """Records were settled: let in as many as there is room for.

        Each may send at once, and fill it again.
        """
        while self._waiting and not self._accumulator.full:
            waiting, _ = self._waiting.popleft()
            if not waiting.called:  # else it was cancelled
                waiting.callback(None)

    def _look(self) -> None:
        self._timer = None
        now = self._reactor.seconds()
        while self._waiting and self._waiting[0][1] <= now:
            waiting, _ = self._waiting.popleft()
            if not waiting.called:
                waiting.errback(self.exhausted(f"none came within {self._longest_s:g} s (max.block.ms)"))
        if self._waiting:
            self._timer = self._reactor.callLater(self._waiting[0][1] - now, self._look)

    def exhausted(self, advice: str) -> BufferExhausted:
        """The error of one who found no room."""
        used, limit = self._accumulator.used_bytes, self._accumulator.limits.buffer_bytes
        return BufferExhausted(f"no room: {used} bytes are on their way, buffer.memory is {limit}; {advice}")

    def close(self, error: KafkaTXError) -> None:
        """Who waits, and who will, fails with *error*."""
        self._error = error
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            waiting, _ = self._waiting.popleft()
            if not waiting.called:
                waiting.errback(error)
