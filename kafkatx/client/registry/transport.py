"""HTTP requests to the addresses of a schema registry, one after the other until one answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import ConnectError, ConnectionDone, DNSLookupError
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import (
    URI,
    Agent,
    HTTPConnectionPool,
    PartialDownloadError,
    RequestGenerationFailed,
    ResponseDone,
    ResponseFailed,
    ResponseNeverReceived,
)
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory, IBodyProducer, IResponse
from zope.interface import implementer

from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable, tls_reason
from kafkatx.clientcore.registry.requests import ACCEPT, CONTENT_TYPE, MAX_REPLY_BYTES, Request
from kafkatx.clientcore.registry.settings import Address, RegistrySettings

T = TypeVar("T")

MakeEndpoint = Callable[[Any, str, int], IStreamClientEndpoint]
"""Makes an endpoint of (reactor, host, port)."""

CONNECTIONS = 2
"""Connections that are kept open to each registry."""

_NO_ANSWER = (
    ConnectError,
    ConnectionDone,
    DNSLookupError,
    PartialDownloadError,
    RequestGenerationFailed,
    ResponseFailed,
    ResponseNeverReceived,
    TimedOut,
    OSError,
)


@implementer(IAgentEndpointFactory)
class _Endpoints:
    """The endpoints of registries: over TCP, or over TLS with the certificates of our settings."""

    def __init__(self, settings: RegistrySettings, reactor: Any, tls: MakeEndpoint | None) -> None:
        self._reactor = reactor
        self._connect_timeout_s = settings.connect_timeout_s
        self._tls = tls

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """Return the endpoint of an address."""
        host = uri.host.decode("ascii")
        if uri.scheme == b"http":
            return HostnameEndpoint(self._reactor, host, uri.port, self._connect_timeout_s)
        assert self._tls is not None, "an address with https needs TLS"
        return self._tls(self._reactor, host, uri.port)


class Transport:
    """The sender of requests; it begins with the address that answered last.

    :param tls: makes the endpoints of addresses with https.
    """

    def __init__(
        self, settings: RegistrySettings, reactor: IReactorTime, tls: MakeEndpoint | None = None
    ) -> None:
        self._settings = settings
        self._reactor: Any = reactor
        self._pool = HTTPConnectionPool(reactor)
        self._pool.maxPersistentPerHost = CONNECTIONS
        self._agent = Agent.usingEndpointFactory(reactor, _Endpoints(settings, reactor, tls), self._pool)
        self._first = 0
        self._closed = False

    async def send(self, request: Request[T]) -> T:
        """Return the result of a request.

        :raises RegistryError: the registry answers with an error.
        :raises RegistryUnavailable: none answers.
        """
        addresses = self._settings.addresses
        why: list[str] = []
        last: RegistryError | None = None
        for turn in range(len(addresses)):
            if self._closed:
                raise ClientClosed("the client of the schema registry is closed")
            at = (self._first + turn) % len(addresses)
            try:
                status, body = await self._exchange(addresses[at], request)
                result = request.reply(status, body)
            except RegistryError as error:
                if not error.retriable:
                    self._first = at
                    raise
                last = error
            except _NO_ANSWER as error:
                why.append(f"{addresses[at].url}: {_reason(error, addresses[at])}")
            else:
                self._first = at
                return result
        if last is not None:
            raise last
        raise RegistryUnavailable(f"no schema registry answers: {'; '.join(why)}")

    async def _exchange(self, address: Address, request: Request[Any]) -> tuple[int, bytes]:
        headers = Headers({"Accept": [ACCEPT], "User-Agent": ["kafkatx"]})
        if address.authorization:
            headers.addRawHeader("Authorization", address.authorization)
        if request.body is not None:
            headers.addRawHeader("Content-Type", CONTENT_TYPE)
        producer = None if request.body is None else _Bytes(request.body)
        url = f"{address.url}{request.path}".encode("ascii")
        asked = self._agent.request(request.method.encode(), url, headers, producer)
        asked.addTimeout(self._settings.connect_timeout_s + self._settings.read_timeout_s, self._reactor)
        response: IResponse = await asked
        collector = _Collector()
        response.deliverBody(collector)
        body = await collector.done.addTimeout(self._settings.read_timeout_s, self._reactor)
        return int(response.code), body

    def close(self) -> Deferred[None]:
        """Close the connections; fires when they are closed."""
        self._closed = True
        closing: Deferred[None] = self._pool.closeCachedConnections()
        return closing


def _reason(error: BaseException, address: Address) -> str:
    reasons: list[Failure] = getattr(error, "reasons", None) or []
    cause = (reasons[0].value if reasons else None) or error
    if isinstance(cause, (TimedOut, CancelledError)):
        return "no reply in time"
    if address.tls and type(cause).__module__.startswith(("OpenSSL.", "service_identity.")):
        from kafkatx.net.tls.contexts import error_text  # not without TLS

        return tls_reason(error_text(cause), address.host)
    return str(cause) or type(cause).__name__


class _Collector(Protocol):
    """A collector of a reply's body, up to :data:`MAX_REPLY_BYTES`."""

    def __init__(self) -> None:
        self.done: Deferred[bytes] = Deferred(lambda _: self._abort())
        self._parts: list[bytes] = []
        self._size = 0

    def dataReceived(self, data: bytes) -> None:
        """Keep a part."""
        self._size += len(data)
        if self._size <= MAX_REPLY_BYTES:
            self._parts.append(data)
        elif self._parts or self._size == len(data):
            self._parts.clear()
            self._abort()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fire with the body, or fail if it is cut off."""
        if self.done.called:
            return
        if self._size > MAX_REPLY_BYTES:
            self.done.errback(RegistryUnavailable(f"the reply is longer than {MAX_REPLY_BYTES} bytes"))
        elif reason.check(ResponseDone, PotentialDataLoss):
            self.done.callback(b"".join(self._parts))
        else:
            self.done.errback(reason)

    def _abort(self) -> None:
        transport: Any = self.transport
        abort = getattr(transport, "abortConnection", None) or getattr(transport, "loseConnection", None)
        if abort is not None:
            abort()


@implementer(IBodyProducer)
class _Bytes:
    """The body of a request."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.length = len(body)

    def startProducing(self, consumer: Any) -> Deferred[None]:
        """Write all of it."""
        consumer.write(self._body)
        done: Deferred[None] = Deferred()
        done.callback(None)
        return done

    def pauseProducing(self) -> None:
        """Do nothing: it is written already."""

    def resumeProducing(self) -> None:
        """Do nothing: it is written already."""

    def stopProducing(self) -> None:
        """Do nothing: it is written already."""
