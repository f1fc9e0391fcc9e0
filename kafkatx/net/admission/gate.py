"""A port that may be shut, and pauses when its connections come too fast. It touches port and clock."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime


class Gate:
    """A bound port. While it is shut or pauses, new connections wait in the kernel.

    :ivar port: the port.
    """

    def __init__(self, port: Any, clock: IReactorTime) -> None:
        self.port = port
        self._clock = clock
        self._is_open = True
        self._pause: IDelayedCall | None = None

    def open(self) -> None:
        """Accept connections."""
        self._is_open = True
        if self._pause is None:
            self.port.startReading()

    def shut(self) -> None:
        """Leave new connections in the kernel."""
        self._is_open = False
        self.port.stopReading()

    def pause(self, seconds: float) -> None:
        """Accept nothing for a while."""
        if self._pause is None:
            self.port.stopReading()
            self._pause = self._clock.callLater(seconds, self._go_on)
        else:
            self._pause.reset(max(seconds, self._pause.getTime() - self._clock.seconds()))

    def _go_on(self) -> None:
        self._pause = None
        self.port.numberAccepts = 1  # of one turn: each may begin the next pause
        if self._is_open:
            self.port.startReading()

    def close(self) -> Deferred[None] | None:
        """Close the port; fires when that is done."""
        self._is_open = False
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        stopping: Deferred[None] | None = self.port.stopListening()
        return stopping
