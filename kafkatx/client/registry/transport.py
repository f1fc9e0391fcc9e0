"""HTTP requests to the addresses of a schema registry, one after the other until one answers."""

from __future__ import annotations

from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.error import ConnectError, ConnectionDone, DNSLookupError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import (
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
from twisted.web.iweb import IBodyProducer, IResponse
from zope.interface import implementer

from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.clientcore.registry.requests import ACCEPT, CONTENT_TYPE, MAX_REPLY_BYTES, Request
from kafkatx.clientcore.registry.settings import Address, RegistrySettings

T = TypeVar("T")

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


class Transport:
    """The sender of requests; it begins with the address that answered last."""

    def __init__(self, settings: RegistrySettings, reactor: IReactorTime) -> None:
        self._settings = settings
        self._reactor: Any = reactor
        self._pool = HTTPConnectionPool(reactor)
        self._pool.maxPersistentPerHost = CONNECTIONS
        self._agent = Agent(reactor, connectTimeout=settings.connect_timeout_s, pool=self._pool)
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
                why.append(f"{addresses[at].url}: {_reason(error)}")
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


def _reason(error: BaseException) -> str:
    if isinstance(error, (TimedOut, CancelledError)):
        return "no reply in time"
    reasons = getattr(error, "reasons", None)
    if reasons:
        return str(reasons[0].value)
    return str(error) or type(error).__name__


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
