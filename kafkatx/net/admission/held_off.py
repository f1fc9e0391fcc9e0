"""A connection of an address that makes too many in a second. It touches its transport and the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet import protocol
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure


class HeldOff(protocol.Protocol):
    """A connection that is accepted, not read from, and closed after a while.

    Closed at once, it would be made again at once by a client that does not wait.

    :param left: called with it when it has ended.
    """

    def __init__(self, clock: IReactorTime, seconds: float, left: Callable[[HeldOff], None]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._left = left
        self._end: IDelayedCall | None = None

    def connectionMade(self) -> None:
        """Begin to wait."""
        transport: Any = self.transport
        transport.pauseProducing()
        self._end = self._clock.callLater(self._seconds, self.abort)

    def abort(self) -> None:
        """Close it."""
        transport: Any = self.transport
        transport.abortConnection()

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Forget it."""
        if self._end is not None and self._end.active():
            self._end.cancel()
        self._left(self)
