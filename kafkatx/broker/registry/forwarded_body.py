"""The body of an answer that another broker gives, up to a limit."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss

from kafkatx.errors import KafkaTXError

MOST_BYTES = 64 << 20


class BodyTooLarge(KafkaTXError):
    """The answer is too large to be passed on."""


class BodyReader(Protocol):
    """Collects a body.

    :ivar done: fires with it, or fails.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.done: Deferred[bytes] = Deferred(lambda _: self._abort())
        self._most_bytes = most_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.loseConnection()

    def dataReceived(self, data: bytes) -> None:
        """Add a part."""
        self._size += len(data)
        if self._size > self._most_bytes:
            self._parts = []
            if not self.done.called:
                self.done.errback(
                    BodyTooLarge(f"the answer has more than {self._most_bytes} bytes: ask the leader")
                )
                self._abort()
            return
        self._parts.append(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End."""
        if self.done.called:
            return
        if reason.check(ResponseDone, PotentialDataLoss):
            self.done.callback(b"".join(self._parts))
        else:
            self.done.errback(reason)
