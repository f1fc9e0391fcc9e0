"""Requests that another broker answers: they are sent to its HTTP listener, once. It touches sockets."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.internet.interfaces import IConsumer, IStreamClientEndpoint
from twisted.python.failure import Failure
from twisted.web.client import URI, Agent, HTTPConnectionPool, ResponseFailed
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory, IBodyProducer, IResponse
from zope.interface import implementer

from kafkatx.broker.registry.forwarded_body import BodyReader, BodyTooLarge
from kafkatx.config.listeners import bracketed
from kafkatx.networkclient.connection import MakeEndpoint
from kafkatx.registry.errors import UNKNOWN_LEADER, forwarding_failed, unknown_leader
from kafkatx.types import BrokerNode
from kafkatx.web.budget import Budget
from kafkatx.web.calls import OF_BROKER, Answer, Call
from kafkatx.web.logins import FOR_PRINCIPAL

FORWARDED = "x-forward"
"""The header of a forwarded request, which must not be forwarded again."""

PASSED_ON = ("accept", "content-type", "authorization")
MOST_HELD_BYTES = 128 << 20
"""The size of all answers that are being received."""

CONNECTIONS = 4
CONNECT_S = 2.0
"""Seconds for connecting over TCP."""

KEPT_S = 20
"""Seconds for which an idle connection is kept; the other side closes it later."""


@implementer(IBodyProducer)
class _Body:
    """The body of a forwarded request: bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.length = len(body)

    def startProducing(self, consumer: IConsumer) -> Deferred[None]:
        """Send everything."""
        consumer.write(self._body)
        return succeed(None)

    def pauseProducing(self) -> None:
        """Do nothing: everything is sent."""

    def resumeProducing(self) -> None:
        """Do nothing: everything is sent."""

    def stopProducing(self) -> None:
        """Do nothing: everything is sent."""


@implementer(IAgentEndpointFactory)
class _Endpoints:
    """The endpoints of other brokers' HTTP listeners."""

    def __init__(self, reactor: Any, https: MakeEndpoint | None) -> None:
        self._reactor = reactor
        self._https = https

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """Return the endpoint of a listener."""
        host = uri.host.decode("ascii")
        if uri.scheme == b"http":
            return HostnameEndpoint(self._reactor, host, uri.port, CONNECT_S)
        assert self._https is not None, "an address with https needs TLS"
        return self._https(self._reactor, host, uri.port)


class Forwarder:
    """The sender of requests to leaders.

    :param timeout_s: seconds until an answer must have begun.
    :param https: makes the endpoints of HTTPS listeners; None: this broker has no certificates for them.
    """

    def __init__(
        self, node_id: int, reactor: Any, timeout_s: float, https: MakeEndpoint | None = None
    ) -> None:
        self._node_id = node_id
        self._reactor = reactor
        self._timeout_s = timeout_s
        self._held = Budget(MOST_HELD_BYTES)
        self._pool = HTTPConnectionPool(reactor)
        self._pool.maxPersistentPerHost = CONNECTIONS
        self._pool.cachedConnectionTimeout = KEPT_S
        self._pool.retryAutomatically = False
        self._https = https
        self._agent = Agent.usingEndpointFactory(reactor, _Endpoints(reactor, https), self._pool)

    async def send(self, leader: BrokerNode, call: Call) -> Answer:
        """Return the answer of a broker.

        :raises RegistryError: UNKNOWN_LEADER: it has not got the request; FORWARDING_FAILED: it may have.
        """
        if leader.http is None:
            raise forwarding_failed(
                f"broker {leader.id} leads the topic of the schemas, and has no HTTP listener that others can"
                " reach: set http.listeners there"
            )
        host, port, has_tls = leader.http.host, leader.http.port, leader.http.security_protocol == "SSL"
        if has_tls and self._https is None:
            raise forwarding_failed(
                f"broker {leader.id} leads the topic of the schemas at an HTTPS listener, and this broker has"
                " none: set http.listeners alike at all brokers"
            )
        headers = Headers({FORWARDED.encode(): [b"%d" % self._node_id], b"host": [b"localhost"]})
        for name in PASSED_ON:
            if name in call.headers:
                headers.addRawHeader(name.encode(), call.headers[name].encode("latin-1"))
        if call.session is not OF_BROKER:  # the leader must not take the client for this broker
            headers.addRawHeader(FOR_PRINCIPAL.encode(), quote(call.session.principal).encode())
        url = f"http{'s' if has_tls else ''}://{bracketed(host)}:{port}{call.target}".encode("latin-1")
        body = _Body(call.body) if call.body or call.method != "GET" else None
        try:
            asked = self._agent.request(call.method.encode(), url, headers, body)
            response: IResponse = await asked.addTimeout(self._timeout_s, self._reactor)
            content = await self._read(response)
        except (ConnectError, DNSLookupError) as error:
            raise unknown_leader(
                f"broker {leader.id} at {host}:{port} leads and cannot be reached: {error}"
            ) from None
        except CancelledError:
            raise  # the client has gone
        except Exception as error:
            if call.method == "GET" and isinstance(error, ResponseFailed):
                raise unknown_leader(f"broker {leader.id} at {host}:{port} has not answered") from None
            raise forwarding_failed(
                f"Error while forwarding the request to broker {leader.id} at {host}:{port}: {_told(error)}"
            ) from None
        if response.code == 500 and _code(content) == UNKNOWN_LEADER:
            raise unknown_leader(f"broker {leader.id} at {host}:{port} leads the topic no more")
        return Answer(response.code, content)

    async def _read(self, response: IResponse) -> bytes:
        reader = BodyReader(self._held)
        response.deliverBody(reader)
        try:
            return await reader.done.addTimeout(self._timeout_s, self._reactor)
        finally:
            self._held.give_back(reader.size)

    def stop(self) -> Deferred[None]:
        """Close the connections."""
        closing: Deferred[None] = self._pool.closeCachedConnections()
        return closing


def _code(content: bytes) -> object:
    """Return the code of an error's body; None if it has none."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found.get("error_code") if isinstance(found, dict) else None


def _told(error: Exception) -> str:
    if isinstance(error, ResponseFailed):
        reasons: list[Failure] = error.reasons
        return "; ".join(reason.getErrorMessage() for reason in reasons)
    if isinstance(error, BodyTooLarge):
        return str(error)
    return f"{type(error).__name__} {error}"
