"""A request that waits for an answer of a state machine, while this broker coordinates the machine's key.

It is the token that the machine gets with the request. It touches nothing.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError

AnswerT = TypeVar("AnswerT")


class Shard(Protocol):
    """The keys of one partition.

    :ivar requests: the requests that wait.
    """

    requests: dict[PendingRequest[Any], None]


class PendingRequest(Generic[AnswerT]):
    """The token of one request: it holds the answer, or the Deferred that waits for it."""

    __slots__ = ("_shard", "response", "waiting")

    def __init__(self) -> None:
        self.response: AnswerT | None = None
        self.waiting: Deferred[AnswerT] | None = None
        self._shard: Shard | None = None

    def wait(self, shard: Shard) -> Deferred[AnswerT]:
        """Return a Deferred of the response, which fails if *shard* is dropped; cancelling it drops it."""
        self.waiting = Deferred(self._cancelled)
        self._shard = shard
        shard.requests[self] = None
        return self.waiting

    def _cancelled(self, _: Deferred[AnswerT]) -> None:
        self.leave()
        self.waiting = None

    def leave(self) -> None:
        """Wait no more."""
        if self._shard is not None:
            self._shard.requests.pop(self, None)


def end_requests(shard: Shard) -> None:
    """Answer all waiting requests with NOT_COORDINATOR."""
    requests, shard.requests = shard.requests, {}
    for request in requests:
        assert request.waiting is not None
        request.waiting.errback(RequestError(ErrorCode.NOT_COORDINATOR))
