"""Long answers: they are made a piece at a time, as fast as the client takes them. It touches timers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from twisted.internet.interfaces import IPushProducer, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.web.calls import Response, as_json

PIECE = 200
"""Items of a list that are encoded in one turn of the reactor."""

_log = Logger()


@implementer(IPushProducer)
class _Pieces:
    def __init__(self, response: Response, pieces: Iterator[bytes], clock: IReactorTime) -> None:
        self._response = response
        self._pieces = pieces
        self._clock = clock
        self._paused = self._ended = self._scheduled = False

    def start(self) -> None:
        self._response.registerProducer(self, True)
        self._schedule()

    def _schedule(self) -> None:
        if not (self._paused or self._ended or self._scheduled):
            self._scheduled = True
            self._clock.callLater(0, self._send)

    def _send(self) -> None:
        self._scheduled = False
        if self._paused or self._ended:
            return
        try:
            piece = next(self._pieces, None)
        except Exception:
            _log.failure("a long answer of HTTP ends early")
            self._ended = True
            self._response.unregisterProducer()
            self._response.loseConnection()
            return
        if piece is None:
            self._ended = True
            self._response.unregisterProducer()
            self._response.finish()
            return
        self._response.write(piece)
        self._schedule()

    def pauseProducing(self) -> None:
        """Wait: the client is slow."""
        self._paused = True

    def resumeProducing(self) -> None:
        """Go on."""
        self._paused = False
        self._schedule()

    def stopProducing(self) -> None:
        """End: the client has gone."""
        self._ended = True


def send_pieces(response: Response, pieces: Iterator[bytes], clock: IReactorTime) -> None:
    """Send a body in pieces, and end the response."""
    _Pieces(response, pieces, clock).start()


def json_list(items: Iterable[object], piece: int = PIECE) -> Iterator[bytes]:
    """Encode a list of JSON in pieces of some items."""
    rest = iter(items)
    before = b"["
    while found := list(islice(rest, piece)):
        yield before + as_json(found)[1:-1]
        before = b","
    yield b"[]" if before == b"[" else b"]"
