"""Brokers in memory behind the client's ``kafkatx.endpoint`` setting: real bytes, no sockets, a clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone, ConnectionLost, ConnectionRefusedError
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import ErrorCode
from kafkatx.networkclient.cluster import Cluster
from kafkatx.wire.api import API_VERSIONS, APIS, api_for
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.frames import FrameDecoder
from kafkatx.wire.headers import encode_response_header, split_request
from kafkatx.wire.messages.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from kafkatx.wire.messages.join_group import JoinGroupRequest
from kafkatx.wire.messages.sync_group import SyncGroupRequest
from tests.blocking.fakes import LOSE_REPLY, LOSE_REQUEST, FakeCluster

NOTHING = "the broker sends no reply to this"
MOST_ROUNDS = 10_000
_WAITING = (JoinGroupRequest.API_KEY, SyncGroupRequest.API_KEY)

Answer = Callable[[int, Any, int], Any]
"""From node, request and version to a reply; or LOSE_REQUEST, LOSE_REPLY (the connection breaks), NOTHING (as
with acks=0), or a Deferred of one: what is behind it waits, as in a broker."""


class Network:
    """A network of brokers; each is called ``brokerN``, N being its node id.

    Nothing arrives by itself: :meth:`pump` carries requests and replies until there are none.

    :ivar clock: the time of brokers and clients.
    :ivar answers: the answers by request class, which take precedence over *answer*.
    :ivar down: nodes that refuse connections.
    :ivar hanging: nodes that never finish connecting.
    :ivar mute: nodes that read requests and do not answer.
    :ivar newest_api_versions: a request for a newer ApiVersions closes the connection; -1: any does.
    :ivar newest: the newest version per request class that brokers announce; -1: they have no such API.
    :ivar oldest: the oldest version per request class.
    :ivar features: the finalized level of each feature.
    :ivar links: every connection that was ever made.
    :ivar requests: (node, request) of all but ApiVersions.
    """

    def __init__(self, answer: Answer | None = None, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.answer = answer or FakeCluster().answer
        self.answers: dict[type[Any], Answer] = {}
        self.down: set[int] = set()
        self.hanging: set[int] = set()
        self.mute: set[int] = set()
        self.newest_api_versions = API_VERSIONS.versions[-1]
        self.newest: dict[type[Any], int] = {}
        self.oldest: dict[type[Any], int] = {}
        self.features: dict[str, int] = {}
        self.links: list[Link] = []
        self.dialled: list[tuple[str, int]] = []
        self.requests: list[tuple[int, Any]] = []

    def settings(self, kind: str = "producer", **more: Any) -> ClientSettings:
        """Return settings of a client of these brokers; names have underscores."""
        values = {"bootstrap_servers": "broker1:9092", "kafkatx_endpoint": self.endpoint, **more}
        return ClientSettings.load(kind, values)

    def cluster(self, kind: str = "producer", **more: Any) -> Cluster:
        """Return a client's cluster that is not started."""
        return Cluster(self.settings(kind, **more), self.clock)

    def started(self, kind: str = "producer", **more: Any) -> Cluster:
        """Return a client's cluster that has its first metadata."""
        cluster = self.cluster(kind, **more)
        self.result(cluster.start())
        return cluster

    def endpoint(self, reactor: Any, host: str, port: int) -> Endpoint:
        """Return an endpoint, as the setting ``kafkatx.endpoint`` requires."""
        return Endpoint(self, host, port)

    def sent(self, request: type[Any]) -> list[Any]:
        """Return all requests of one class so far."""
        return [message for _, message in self.requests if isinstance(message, request)]

    def live(self, node: int | None = None) -> list[Link]:
        """Return the open connections, to one node or to all."""
        return [link for link in self.links if not link.gone and node in (None, link.node)]

    def kill(self, node: int) -> None:
        """Break a node's connections and accept no new ones, as kill -9 does."""
        self.down.add(node)
        for link in self.live(node):
            link.lose()

    def pump(self, seconds: float = 0.0) -> None:
        """Advance the clock, then carry requests and replies until there are none."""
        self.clock.advance(seconds)
        for _ in range(MOST_ROUNDS):
            moved = [link.move() for link in self.live()]
            if not any(moved):
                return
            self.clock.advance(0)
        raise AssertionError("client and brokers talk for ever")

    def run(self, seconds: float, step: float = 0.05) -> None:
        """Advance the clock in steps."""
        for _ in range(round(seconds / step)):
            self.pump(step)

    def result(self, waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Pump until the Deferred fires, for at most *seconds*; return its result or raise its error."""
        outcome: list[Any] = []
        waiting.addBoth(outcome.append)
        self.pump()
        while not outcome and seconds > 0:
            self.pump(0.05)
            seconds -= 0.05
        if not outcome:
            raise AssertionError("it did not fire")
        if isinstance(outcome[0], Failure):
            outcome[0].raiseException()
        return outcome[0]


@implementer(IStreamClientEndpoint)
class Endpoint:
    """An endpoint of one address."""

    def __init__(self, network: Network, host: str, port: int) -> None:
        self._network = network
        self._host = host
        self._port = port

    def connect(self, protocolFactory: Any) -> Deferred[Any]:
        """Connect at once, or fail at once, or hang."""
        network, node = self._network, int(self._host.removeprefix("broker"))
        network.dialled.append((self._host, self._port))
        if node in network.hanging:
            return Deferred()
        if node in network.down:
            return fail(ConnectionRefusedError())
        link = Link(network, node, protocolFactory.buildProtocol(IPv4Address("TCP", self._host, self._port)))
        network.links.append(link)
        link.protocol.makeConnection(link)
        return succeed(link.protocol)


class Link(StringTransport):
    """One connection, seen from the client; its broker's side is :meth:`move`."""

    bufferSize = 0

    def __init__(self, network: Network, node: int, protocol: Any) -> None:
        super().__init__()
        self.node = node
        self.protocol = protocol
        self.gone = False
        self.client_id: str | None = None
        self.options: list[tuple[int, int, int]] = []
        self._network = network
        self._frames = FrameDecoder(1 << 30)
        self._unread: deque[memoryview] = deque()
        self._replies: deque[tuple[int, int, int, Any]] = deque()
        self._closing: Any = None

    def move(self) -> bool:
        """Read the client's bytes, send ready replies; return True if there was anything."""
        data = self.value()
        self.clear()
        if self.node not in self._network.mute:
            self._unread.extend(memoryview(bytes(body)) for body in self._frames.feed(data))
            self._read()
        sent = self._send()
        if self._closing is not None and not self.gone:
            self.lose(self._closing)
            return True
        return bool(data) or sent

    def _read(self) -> None:
        """Take sent requests; stop behind a member that waits for others, as a broker does."""
        while self._unread and not any(
            key in _WAITING and isinstance(reply, Deferred) and not reply.called
            for key, _, _, reply in self._replies
        ):
            self._take(self._unread.popleft())

    def _take(self, body: memoryview) -> None:
        network = self._network
        key, version, correlation_id, self.client_id, at = split_request(body)
        if key == API_VERSIONS.key:
            if version > network.newest_api_versions:
                self._closing = ConnectionDone()
                return
            reply: Any = self.versions(version)
        else:
            request = decode(api_for(key).request, version, body[at:])
            network.requests.append((self.node, request))
            answer = network.answers.get(type(request), network.answer)
            reply = answer(self.node, request, version)
        self._replies.append((key, version, correlation_id, reply))

    def versions(self, version: int) -> ApiVersionsResponse:
        """Return the versions that the broker supports."""
        newest, oldest = self._network.newest, self._network.oldest
        told = [
            ApiVersion(
                api.key,
                oldest.get(api.request, api.versions[0]),
                newest.get(api.request, api.versions[-1]),
            )
            for api in APIS.values()
            if api.listed and newest.get(api.request, 0) >= 0
        ]
        features = [FinalizedFeatureKey(name, level, 0) for name, level in self._network.features.items()]
        return ApiVersionsResponse(ErrorCode.NONE, told, finalized_features=features)

    def _send(self) -> bool:
        sent = False
        while self._replies and not self.gone:
            key, version, correlation_id, reply = self._replies[0]
            if isinstance(reply, Deferred):
                if not reply.called:
                    break
                reply = reply.result
            self._replies.popleft()
            sent = True
            if reply in (LOSE_REQUEST, LOSE_REPLY):
                self.lose()
            elif reply != NOTHING:
                if getattr(reply, "error_code", 0) == ErrorCode.UNSUPPORTED_VERSION:
                    version = 0  # as ApiVersions is answered (KIP-511)
                body = encode_response_header(key, version, correlation_id) + encode(reply, version)
                self.protocol.dataReceived(len(body).to_bytes(4, "big") + body)
        return sent

    def lose(self, reason: Exception | None = None) -> None:
        """Break the connection."""
        if not self.gone:
            self.gone = True
            self.protocol.connectionLost(Failure(reason or ConnectionLost()))

    def getHandle(self) -> Link:
        """Return this object in place of the socket."""
        return self

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """Record the option."""
        self.options.append((level, option, value))

    def loseConnection(self) -> None:
        """Close from the client's side, after its bytes were sent."""
        super().loseConnection()
        self._closing = ConnectionDone()

    def abortConnection(self) -> None:
        """Close from the client's side at once."""
        self._network.clock.callLater(0, self.lose, ConnectionLost())
