"""Requests to the controller for elections and reassignments, until they are answered.

It touches the clock only. :mod:`kafkatx.metadata.cluster.control.controller` makes the writes, one request
after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.controller.writes import Answers, StateWrite, TopicWrite, Write
from kafkatx.types import ClusterState, TopicPartition

ANSWERED_S = 30.0
"""Seconds after which a request is answered, done or not."""

Wanted: TypeAlias = Mapping[TopicPartition, Sequence[int] | None]
"""The partitions that a request names, and the replicas that they are to have."""
Decision: TypeAlias = Callable[
    [ClusterState, Collection[str], Wanted | None], tuple[Sequence[Write], Answers]
]
"""Returns what a request needs, from the state, the topics that are being deleted and what is left of it."""


class Request:
    """One request.

    :param decide: is called until all its writes are made.
    :param wanted: None for all partitions that need it.
    :ivar result: fires with an outcome for each partition.
    """

    def __init__(self, clock: IReactorTime, decide: Decision, wanted: Wanted | None) -> None:
        self.result: Deferred[Answers] = Deferred()
        self._decide = decide
        self._left = wanted
        self._answers: Answers = {}
        self._timer = clock.callLater(ANSWERED_S, self._late)

    @property
    def answered(self) -> bool:
        """True if the request needs no more work."""
        return self.result.called

    def writes(self, state: ClusterState, deleting: Collection[str]) -> Sequence[Write]:
        """Return the writes that are left, by a state that shows all earlier ones."""
        wanted = self._left or {}
        writes, answers = self._decide(state, deleting, self._left)
        self._answers.update((one, error) for one, error in answers.items() if error is not None)
        self._left = {one: wanted.get(one) for one, error in answers.items() if error is None}
        return writes

    def made(self, writes: Collection[Write]) -> None:
        """Note that some of the writes have been made."""
        left = dict(self._left or {})
        for write in writes:
            if isinstance(write, StateWrite):
                done = [TopicPartition(write.topic, write.partition)]
            elif isinstance(write, TopicWrite):
                done = [TopicPartition(write.topic.name, number) for number in write.changed]
            else:
                continue
            for one in done:
                left.pop(one, None)
                self._answers[one] = None
        self._left = left

    def finish(self) -> None:
        """Answer that all that is left is done."""
        self._answer(dict.fromkeys(self._left or ()))

    def fail(self, error: RequestError) -> None:
        """Fail the whole request, unless it is answered."""
        if not self.answered:
            self._end()
            self.result.errback(error)

    def _late(self) -> None:
        code, message = ErrorCode.REQUEST_TIMED_OUT, "The controller could not write it in time."
        if self._left is None:
            self.result.errback(RequestError(code, message))
        else:
            self._answer({one: RequestError(code, message) for one in self._left})

    def _answer(self, rest: Answers) -> None:
        if not self.answered:
            self._end()
            self.result.callback(self._answers | rest)

    def _end(self) -> None:
        if self._timer.active():
            self._timer.cancel()


class Requests:
    """The requests that wait, in the order of their arrival."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._waiting: deque[Request] = deque()

    def add(self, decide: Decision, wanted: Wanted | None) -> Deferred[Answers]:
        """Add a request; return its result."""
        request = Request(self._clock, decide, wanted)
        self._waiting.append(request)
        return request.result

    def first(self) -> Request | None:
        """Return the first request that is not answered; None if there is none."""
        while self._waiting and self._waiting[0].answered:
            self._waiting.popleft()
        return self._waiting[0] if self._waiting else None

    def fail_all(self, error: Callable[[], RequestError]) -> None:
        """Fail all requests, each with an error of its own."""
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.fail(error())
