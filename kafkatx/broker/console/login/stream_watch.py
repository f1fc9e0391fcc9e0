"""The end of streams whose users are logged in no more: after a logout, a removal, or the end of a session.

A request is checked when it comes, and a stream goes on for hours. It touches the clock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from kafkatx.web.calls import Answer, Call
from kafkatx.web.event_stream import EventStream

INTERVAL_S = 1.0
"""Seconds between two looks at the sessions of streams."""


class StreamWatch:
    """The streams of a listener, with the requests that opened them.

    :param is_logged_in: tells if the session of a request has not ended.
    """

    _log = Logger()

    def __init__(self, clock: IReactorTime, is_logged_in: Callable[[Call], Awaitable[bool]]) -> None:
        self._is_logged_in = is_logged_in
        self._calls: dict[EventStream, Call] = {}
        self._loop = LoopingCall(lambda: Deferred.fromCoroutine(self._round()))
        self._loop.clock = clock

    def add(self, call: Call, answer: Answer) -> Answer:
        """Watch the stream of an answer, if it is one; return the answer."""
        if isinstance(answer.stream, EventStream) and not answer.stream.ended:
            self._calls[answer.stream] = call
            answer.stream.on_end = partial(self._forget, answer.stream, answer.stream.on_end)
            if not self._loop.running:
                self._loop.start(INTERVAL_S, now=False).addErrback(
                    lambda failure: self._log.failure("streams are watched no more", failure)
                )
        return answer

    def _forget(self, stream: EventStream, on_end: Callable[[], None]) -> None:
        del self._calls[stream]
        if not self._calls and self._loop.running:
            self._loop.stop()
        on_end()

    async def _round(self) -> None:
        for stream, call in list(self._calls.items()):
            if not stream.ended and not await self._is_logged_in(call):
                stream.end()
                if not stream.ended:  # its client is slow
                    stream.drop()
