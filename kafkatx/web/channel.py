"""Connections and requests of Twisted Web, with our limits. It touches sockets and timers.

A request whose body is too large is refused when its length is known, before ``100 Continue`` is sent. The
rest of what the client sends is read and thrown away for a moment, so that it can read the refusal. A client
that takes too long for a request is disconnected.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, Request

from kafkatx.fair_shares import FairPlaces
from kafkatx.net.admission.limits import network_of
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import Peer, Session
from kafkatx.web.budget import Budget
from kafkatx.web.calls import Answer, Call, Stream, WebError, error_answer, read_target
from kafkatx.web.limits import WebLimits
from kafkatx.web.pieces import send_pieces
from kafkatx.web.site import Site

LINGER_S = 2.0
"""Seconds for which the rest of a refused request is read."""

_log = Logger()


class Owner(Protocol):
    """The factory of connections, as these see it.

    :ivar channels: the open connections.
    :ivar places: those of them that count, by address.
    :ivar bodies: the bytes of all bodies.
    """

    listener: str
    log: LimitedLog
    bodies: Budget
    site: Site
    limits: WebLimits
    channels: set[Channel]
    places: FairPlaces[Channel]


TLS_HANDSHAKE = 0x16
"""The first byte of a client that speaks TLS."""


class Channel(HTTPChannel):
    """A connection of the HTTP server.

    :ivar peer: the client, with its principal if it has shown a certificate.
    """

    peer: Peer

    def __init__(self, factory: Owner, reactor: Any) -> None:
        super().__init__()
        self.owner = factory
        self.reactor = reactor
        self.callLater = reactor.callLater  # type: ignore[method-assign]
        self.timeOut = max(1, round(factory.limits.idle_timeout_s))
        self.requestFactory: type[Request] = WebRequest
        self._deadline: IDelayedCall | None = None
        self._began = False
        self._active_s = 0.0

    def connectionMade(self) -> None:
        """Count the connection."""
        self._active_s = self.reactor.seconds()
        self.owner.channels.add(self)
        remote, local = self.getPeer(), self.getHost()
        self.owner.places.add(network_of(remote.host), self)
        session = Session(listener=self.owner.listener)
        self.peer = Peer(remote.host, remote.port, local.host, local.port, session)
        super().connectionMade()

    def dataReceived(self, data: bytes) -> None:
        """Begin the time of a request with its first byte."""
        if not self._began and data[0] == TLS_HANDSHAKE:
            self.owner.log.warn(
                "closed the connection from {peer}: it speaks TLS to the listener {listener} without TLS;"
                " use http:// in its URL, or HTTPS in http.listeners",
                peer=self.peer,
                listener=self.owner.listener,
            )
            self.close()
            return
        self._began = True
        self._active_s = self.reactor.seconds()
        if self._deadline is None and not self._handlingRequest:
            self._deadline = self.reactor.callLater(self.owner.limits.request_timeout_s, self._late)
        super().dataReceived(data)

    @property
    def is_busy(self) -> bool:
        """True while a request is being answered."""
        return bool(self._handlingRequest)

    def active_s(self) -> float:
        """Return the time when the client sent something last."""
        return self._active_s

    def _late(self) -> None:
        self._deadline = None
        self.close()

    def received(self) -> None:
        """End the time of a request: all of it is there."""
        deadline, self._deadline = self._deadline, None
        if deadline is not None and deadline.active():
            deadline.cancel()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        if self.transport is not None:
            self.transport.write(data)

    def linger(self) -> None:
        """Close the connection soon; what it sends until then is thrown away."""
        self.received()
        self._deadline = self.reactor.callLater(LINGER_S, self._late)

    def close(self) -> None:
        """Close the connection at once."""
        if self.transport is not None:
            self.transport.abortConnection()  # type: ignore[attr-defined]

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Forget the connection."""
        self.owner.channels.discard(self)
        self.owner.places.remove(self)
        self.received()
        super().connectionLost(reason)


class WebRequest(Request):
    """One request: it is given to the site when all of it is there."""

    channel: Channel

    def __init__(self, channel: Channel, queued: object = None) -> None:
        super().__init__(channel, queued)
        self._owner = channel.owner  # Twisted forgets the channel when the connection is lost
        self._peer = channel.peer
        self._address = network_of(channel.peer.host)
        self._refused = False
        self._received = 0
        self._body = BytesIO()
        self._answering: Deferred[None] | None = None
        self._stream: Stream | None = None

    def gotLength(self, length: int | None) -> None:
        """Refuse a body that is too large; keep others in memory."""
        if length is not None and length > self._owner.limits.max_body_bytes:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:
        """Add a part of the body."""
        if self._refused:
            return
        owner = self._owner
        if self._received + len(data) > owner.limits.max_body_bytes:
            self._refuse()
        elif not owner.bodies.take(len(data), self._address):
            self._refuse_now(WebError(503, "the bodies of requests have too many bytes at once: try again"))
        else:
            self._received += len(data)
            self._body.write(data)

    def _give_back(self) -> None:
        """Free the budget of the body."""
        received, self._received = self._received, 0
        self._owner.bodies.give_back(received, self._address)

    def _refuse(self) -> None:
        most = self._owner.limits.max_body_bytes
        self._refuse_now(WebError(413, f"the body is larger than kafkatx.http.request.max.bytes={most}"))

    def _refuse_now(self, error: WebError) -> None:
        """Answer before the body is there, and read no more of it than a polite client still sends."""
        self._refused = True
        self._give_back()
        self.requestHeaders.removeHeader(b"expect")  # else Twisted would ask for the body
        self._body = BytesIO()
        body = error_answer(error).body
        assert isinstance(body, bytes)
        self.channel.send(
            b"HTTP/1.1 %d Refused\r\nConnection: close\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (error.status, len(body), body)
        )
        self.channel.linger()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """Answer the request."""
        if self._refused:
            self.channel.loseConnection()
            return
        self.channel.received()
        self.method, self.uri, self.clientproto = command, path, version
        self.client, self.host = self.channel.getPeer(), self.channel.getHost()
        self._answering = Deferred.fromCoroutine(self._answer())
        self._answering.addErrback(self._failed)

    async def _answer(self) -> None:
        try:
            answer = await self._owner.site.answer(self._call())
        finally:
            self._give_back()
        self._send(answer)

    def _call(self) -> Call:
        method = self.method.decode("ascii", "replace")
        try:
            path, query = read_target(self.uri)
        except WebError:
            path, query = ("\0",), {}  # which no application has
        headers = {
            name.decode("latin-1").lower(): values[-1].decode("latin-1")
            for name, values in self.requestHeaders.getAllRawHeaders()
        }
        target = self.uri.decode("latin-1")
        body, self._body = self._body.getvalue(), BytesIO()
        method = "GET" if method == "HEAD" else method
        return Call(method, target, path, query, headers, body, self._peer.session, self._peer.host)

    def _send(self, answer: Answer) -> None:
        if self._disconnected:
            if answer.stream is not None:
                answer.stream.gone()
            return
        self.setResponseCode(answer.status)
        self.setHeader(b"content-type", answer.content_type.encode("latin-1"))
        for name, value in answer.headers.items():
            self.setHeader(name.encode("latin-1"), value.encode("latin-1", "replace"))
        if answer.stream is not None and self.method != b"HEAD":
            self._stream = answer.stream
            answer.stream.start(self)
        elif answer.stream is not None:
            answer.stream.gone()
            self.finish()
        elif isinstance(answer.body, bytes):
            self.setHeader(b"content-length", b"%d" % len(answer.body))
            self.write(answer.body)
            self.finish()
        elif self.method == b"HEAD":
            self.write(b"")
            self.finish()
        else:
            send_pieces(self, answer.body, self.channel.reactor)

    def abort(self) -> None:
        """Close the connection at once."""
        if not self._disconnected:
            self.channel.close()

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            _log.failure("an answer could not be sent", failure)
            self.channel.close()

    def connectionLost(self, reason: Failure) -> None:
        """End the wait for the answer; what the request has begun goes on."""
        super().connectionLost(reason)
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.gone()
        if self._answering is None:
            self._give_back()
        else:
            self._answering.cancel()
