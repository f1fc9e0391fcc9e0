"""The TLS layer of a server's connection: the limits before the handshake is done, the principal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from cryptography import x509
from OpenSSL import SSL
from twisted.internet.interfaces import IAddress, IDelayedCall, IProtocol, IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.protocols.tls import TLSMemoryBIOProtocol
from twisted.python.failure import Failure

from kafkatx.net.admission.unauthenticated import Unauthenticated
from kafkatx.net.limited_log import LimitedLog
from kafkatx.net.requests import Session
from kafkatx.net.sender import Load
from kafkatx.net.tls.contexts import error_text, refusal
from kafkatx.net.tls.handshakes import Handshakes
from kafkatx.net.tls.sender import TlsSender

HANDSHAKE = 0x16
"""The first byte of a TLS client."""

ALERT = 0x15
"""That of one which ends before it has begun, as librdkafka does when it is closed."""

MOST_BYTES = 256 << 10
"""Bytes that a peer may send before its handshake is done: long certificate chains have 100 kB."""


class Below(Protocol):
    """The factory of a listener's connections without TLS, for Kafka's protocol or for HTTP.

    A connection has a ``peer``, and takes the content of the TLS connection by ``dataReceived``.

    :ivar listener: the name of the listener.
    :ivar tls_advice: what to do if a client sends plain text.
    """

    listener: str
    tls_advice: str

    @property
    def clock(self) -> IReactorTime:
        """The clock of all connections."""

    @property
    def log(self) -> LimitedLog:
        """The log of lines that clients cause."""

    @property
    def unauthenticated(self) -> Unauthenticated:
        """The connections that are not authenticated yet."""

    def buildProtocol(self, addr: IAddress | None) -> IProtocol | None:
        """Return a connection, one that is held off, or None if there are too many."""


class Factory(Protocol):
    """The listener as its connections see it: :class:`kafkatx.net.tls.listener.TlsFactory`."""

    below: Below
    handshakes: Handshakes

    def principal_of(self, certificate: x509.Certificate) -> tuple[str, str | None]:
        """Return the distinguished name of a client's certificate, and its principal if a rule matches."""


class _Pieces:
    """Takes the content of records in place of the connection, which is to get all of one read together."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def dataReceived(self, data: bytes) -> None:
        self.pieces.append(data)


class TlsConnection(TLSMemoryBIOProtocol):
    """The TLS layer below a connection of Kafka's protocol or of HTTP."""

    wrappedProtocol: Any  # a KafkaConnection, or a Channel of HTTP

    def __init__(self, factory: Any, wrapped: Any) -> None:
        super().__init__(factory, wrapped)
        self._listener: Factory = factory
        self._shaking = True
        self._said = False
        self._received = 0
        self._early: list[bytes] | None = None
        self._deadline: IDelayedCall | None = None
        self._turn: IDelayedCall | None = None

    def makeConnection(self, transport: Any) -> None:
        """Begin; the peer has limited time for its handshake."""
        handshakes, clock = self._listener.handshakes, self._listener.below.clock
        handshakes.add(self)
        self._listener.below.unauthenticated.add(self, transport.getPeer().host)
        timeout_s = handshakes.limits.timeout_s
        self._deadline = clock.callLater(
            timeout_s, self.drop, f"its TLS handshake was not done within {timeout_s:g} s"
        )
        super().makeConnection(transport)

    @property
    def _tcp(self) -> Any:
        """The transport below."""
        return self.transport

    def make_sender(self, drained: Callable[[], None], load: Load) -> TlsSender:
        """Return the sender for this transport (:func:`kafkatx.net.sender.make_sender`)."""
        return TlsSender(self, drained, load)

    def dataReceived(self, data: bytes) -> None:
        """Decrypt a piece of the stream; before the handshake is done within its limits."""
        if self._shaking:
            if self._may_go_on(data):
                super().dataReceived(data)
            return
        above, taken = self.wrappedProtocol, _Pieces()
        self.wrappedProtocol = taken
        try:
            super().dataReceived(data)
        finally:
            self.wrappedProtocol = above
        if taken.pieces and not self.disconnecting:
            above.dataReceived(b"".join(taken.pieces))

    @property
    def bufferSize(self) -> int:
        """The size of one read from the socket; the connection above sets it."""
        size: int = self._tcp.bufferSize
        return size

    @bufferSize.setter
    def bufferSize(self, size: int) -> None:
        self._tcp.bufferSize = size

    def _may_go_on(self, data: bytes) -> bool:
        first = not self._received
        self._received += len(data)
        self._listener.handshakes.receive(self, len(data))
        if self._early is not None:
            self._early.append(data)
        if first and data[0] not in (HANDSHAKE, ALERT):
            self.drop(
                f"it sends plain text to the TLS listener {self._listener.below.listener};"
                f" {self._listener.below.tls_advice}"
            )
        elif self._received > MOST_BYTES:
            self.drop(f"it sent more than {MOST_BYTES} bytes before its TLS handshake was done")
        elif first:
            clock = self._listener.below.clock
            wait_s = self._listener.handshakes.turn_s(clock.seconds())
            if wait_s > 0:
                self._early = [data]
                self._tcp.pauseProducing()
                self._turn = clock.callLater(wait_s, self._begin)
        return self._shaking and self._early is None and not self._said

    def _begin(self) -> None:
        """Take the turn: a handshake costs time of the processor."""
        early, self._early, self._turn = self._early or [], None, None
        self._tcp.resumeProducing()
        super().dataReceived(b"".join(early))

    def handshake_done(self, connection: SSL.Connection) -> None:
        """Take over the principal of the peer's certificate; called before any request is read."""
        if not self._shaking:
            return
        self._end_handshake()
        certificate: Any = connection.get_peer_certificate()
        if certificate is None:
            return
        subject, principal = self._listener.principal_of(certificate.to_cryptography())
        if principal is None:
            self._say(f"no rule of ssl.principal.mapping.rules matches its certificate, {subject}")
            self.failVerification(Failure(SSL.Error([("", "", "no rule matches the certificate")])))
            return
        self.wrappedProtocol.peer.session = Session(principal, self._listener.below.listener)

    def _end_handshake(self) -> None:
        self._shaking = False
        self._listener.handshakes.remove(self)
        self._listener.below.unauthenticated.remove(self)
        for timer in (self._deadline, self._turn):
            if timer is not None and timer.active():
                timer.cancel()
        self._deadline = self._turn = None

    def drop(self, reason: str) -> None:
        """Close the connection at once, and log the reason."""
        self._say(reason)
        self._end_handshake()
        self._shaking, self._early = True, []  # nothing more is read
        self.abortConnection()

    def _say(self, reason: str) -> None:
        if not self._said:
            self._said = True
            self._listener.below.log.warn(
                "closed the connection from {peer}: {reason}", peer=self.wrappedProtocol.peer, reason=reason
            )

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Log a handshake that has failed; one that connects and leaves is no news."""
        failure = getattr(self, "_reason", None) or reason
        if self._shaking and self._received and not self._said and failure.check(SSL.Error):
            self._say(f"its TLS handshake failed: {error_text(failure.value)}{refusal(self.getHandle())}")
        self._end_handshake()
        super().connectionLost(reason)
