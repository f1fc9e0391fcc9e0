"""The body of an answer that another broker gives, within a budget."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import ResponseDone
from twisted.web.http import PotentialDataLoss

from kafkatx.errors import KafkaTXError
from kafkatx.web.budget import Budget

MOST_BYTES = 64 << 20


class BodyTooLarge(KafkaTXError):
    """The answer is too large to be passed on."""


class BodyReader(Protocol):
    """A collector of the body of a forwarded request's answer.

    :ivar done: fires with the body, or fails.
    :ivar size: the bytes that were taken from the budget; the caller gives them back.
    """

    def __init__(self, budget: Budget) -> None:
        self.done: Deferred[bytes] = Deferred(lambda _: self._abort())
        self.size = 0
        self._budget = budget
        self._parts: list[bytes] = []

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.loseConnection()

    def dataReceived(self, data: bytes) -> None:
        """Add a part."""
        if self.done.called:
            return
        if self.size + len(data) > MOST_BYTES or not self._budget.take(len(data)):
            self._parts = []
            self.done.errback(BodyTooLarge("the answer is too large to be passed on: ask the leader"))
            self._abort()
            return
        self.size += len(data)
        self._parts.append(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End."""
        if self.done.called:
            return
        if reason.check(ResponseDone, PotentialDataLoss):
            self.done.callback(b"".join(self._parts))
        else:
            self.done.errback(reason)
