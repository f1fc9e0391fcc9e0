"""Server-Sent Events: answers that go on, an event at a time. They touch timers.

An event is a name and one line of JSON::

    event: update
    data: {"overview": ...}

A comment, ``:``, is sent at the start and each :data:`COMMENT_S`: it keeps proxies from closing the
connection, and tells the server that the client is gone. Events wait in memory while a client is slow. A
client is disconnected if too many bytes wait, or if it has taken nothing for :data:`STALLED_S`; a browser
connects again by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime
from zope.interface import implementer

from kafkatx.fair_shares import FairPlaces
from kafkatx.web.calls import Answer, Response, WebError, as_json

CONTENT_TYPE = "text/event-stream"

COMMENT_S = 15.0
"""Seconds between two comments."""

STALLED_S = 60.0
"""Seconds for which a client may take nothing of what waits."""

MOST_WAITING_BYTES = 256 << 10
"""The size of the events that wait for one client; one alone may be larger."""

_COMMENT = b":\n\n"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@implementer(IPushProducer)
class EventStream:
    """The events for one client.

    It lives from :meth:`EventStreams.open` until :attr:`ended`. It ends when the client has gone, is too
    slow, or has not got the answer within :data:`COMMENT_S`; or by :meth:`end` or :meth:`drop`.

    :ivar ended: True if nothing more can be sent.
    :ivar too_slow: True if the client was disconnected because it was too slow.
    :ivar waiting_bytes: the size of the events that the client has not taken.
    :ivar on_end: called once, when the stream has ended.
    """

    def __init__(self, streams: EventStreams) -> None:
        self.ended = self.too_slow = False
        self.waiting_bytes = 0
        self.on_end: Callable[[], None] = lambda: None
        self._streams = streams
        self._clock = streams.clock
        self._response: Response | None = None
        self._waiting: deque[bytes] = deque()
        self._paused = True
        self._ending = False
        self._stalled_s = self._clock.seconds()
        self._drained: list[Deferred[None]] = []
        self._timer: IDelayedCall | None = self._clock.callLater(COMMENT_S, self._tick)

    def answer(self, headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
        """Return the answer to the client's request, which sends the events."""
        return Answer(200, b"", CONTENT_TYPE, {**_HEADERS, **headers}, stream=self)

    # --- events

    def send(self, event: str, data: object) -> None:
        """Send an event, or let it wait; do nothing if the stream has ended.

        :param event: its name, without line breaks.
        :param data: encoded as JSON.
        """
        self.send_encoded(event, as_json(data))

    def send_encoded(self, event: str, data: bytes) -> None:
        """Send an event, as :meth:`send` does, whose data is JSON already."""
        if not (self.ended or self._ending):
            self._put(b"event: %b\ndata: %b\n\n" % (event.encode(), data))

    @property
    def is_behind(self) -> bool:
        """True if the client has not taken everything: a new state may take the place of the next event."""
        return self._paused

    def drained(self) -> Deferred[None]:
        """Return a Deferred that fires when the client is ready for more, or the stream has ended.

        Cancelling it ends the waiting only.
        """
        if self.ended or not self._paused:
            return succeed(None)
        waiting: Deferred[None] = Deferred(self._drained.remove)
        self._drained.append(waiting)
        return waiting

    def _put(self, data: bytes) -> None:
        if not self._paused and self._response is not None:
            self._response.write(data)
            return
        if self._waiting and self.waiting_bytes + len(data) > self._streams.most_waiting_bytes:
            self.too_slow = True
            self.drop()
            return
        self._waiting.append(data)
        self.waiting_bytes += len(data)

    def _tick(self) -> None:
        self._timer = None
        if self._response is None:
            self._finish()  # the request was given up before its answer
            return
        if self._paused:
            if self._clock.seconds() - self._stalled_s >= STALLED_S:
                self.too_slow = True
                self.drop()
                return
        else:
            self._response.write(_COMMENT)
        self._timer = self._clock.callLater(COMMENT_S, self._tick)

    # --- the end

    def end(self) -> None:
        """End the response when the client has taken everything."""
        self._ending = True
        self._end_if_taken()

    def _end_if_taken(self) -> None:
        if self._ending and not self.ended and not self._waiting and self._response is not None:
            response = self._response
            self._finish()
            response.unregisterProducer()
            response.finish()

    def drop(self) -> None:
        """Close the connection at once; what waits is lost."""
        response, was_ended = self._response, self.ended
        self._finish()
        if response is not None and not was_ended:
            response.unregisterProducer()
            response.abort()

    def _finish(self) -> None:
        if self.ended:
            return
        self.ended = True
        self._streams.forget(self)
        self._waiting.clear()
        self.waiting_bytes = 0
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        self._wake()
        self.on_end()

    def _wake(self) -> None:
        drained, self._drained = self._drained, []
        for one in drained:
            one.callback(None)

    # --- as the server and the transport call it

    def start(self, response: Response) -> None:
        """Begin to send."""
        if self.ended:
            response.abort()
            return
        self._response = response
        self._paused = False
        response.registerProducer(self, True)
        response.write(_COMMENT)
        self._take()

    def gone(self) -> None:
        """End: the client has gone."""
        self._finish()

    def pauseProducing(self) -> None:
        """Keep events: the client is slow."""
        self._paused = True
        self._stalled_s = self._clock.seconds()

    def resumeProducing(self) -> None:
        """Send what waits, until the client is slow again."""
        self._paused = False
        self._take()

    def _take(self) -> None:
        while self._waiting and not self._paused and self._response is not None:
            data = self._waiting.popleft()
            self.waiting_bytes -= len(data)
            self._response.write(data)
        self._end_if_taken()
        if not self._paused:
            self._wake()

    def stopProducing(self) -> None:
        """End: the client has gone."""
        self._finish()


class EventStreams:
    """All streams of a server.

    :ivar most: the number of streams at the same time; it may be changed.
    :ivar most_waiting_bytes: the size of the events that wait for one client.
    :param setting: the name of the setting with *most*, for the message of a refusal.
    """

    def __init__(
        self, clock: IReactorTime, most: int, setting: str, most_waiting_bytes: int = MOST_WAITING_BYTES
    ) -> None:
        self.clock = clock
        self.most = most
        self.most_waiting_bytes = most_waiting_bytes
        self._setting = setting
        self._open: FairPlaces[EventStream] = FairPlaces(most)
        self._stopped = False

    def __len__(self) -> int:
        """Return the number of open streams."""
        return len(self._open)

    def open(self, share: str = "") -> EventStream:
        """Open a stream; its answer has to be returned without waiting for anything.

        If there are too many, the newest stream of the share with most gives way to one with fewer.

        :param share: whose it is: a principal, or an address.
        :raises WebError: 503: there are too many, or the server stops.
        """
        if self._stopped:
            raise WebError(503, "the broker stops", headers={"Retry-After": "5"})
        self._open.most = self.most
        crowd = self._open.crowded(share)
        if crowd and crowd[-1] in self._open.of(share):
            raise WebError(
                503,
                f"{len(self._open)} event streams are open, as many as {self._setting} allows: close other"
                " pages, or raise it",
                headers={"Retry-After": "5"},
            )
        if crowd:
            crowd[-1].drop()
        stream = EventStream(self)
        self._open.add(share, stream)
        return stream

    def forget(self, stream: EventStream) -> None:
        """Remove a stream that has ended."""
        self._open.remove(stream)

    def stop(self) -> None:
        """Close all streams, and open none any more."""
        self._stopped = True
        for stream in self._open.all():
            stream.drop()
