"""Brokers in memory behind the client's ``kafkatx.endpoint`` seam: real bytes, no sockets, a clock's time."""

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
from kafkatx.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
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
    """Where clients find the brokers; each is called ``brokerN``, N being its node id.

    Nothing arrives by itself: :meth:`pump` carries requests and replies until there is nothing to carry.

    :ivar clock: the time of brokers and clients.
    :ivar answers: the answer to a request's class, which goes before *answer*.
    :ivar down: nodes that refuse connections.
    :ivar hanging: nodes that never finish connecting.
    :ivar mute: nodes that read and say nothing.
    :ivar newest_api_versions: a request for a newer ApiVersions closes the connection; -1: any does.
    :ivar newest: per request class the newest version that brokers tell of; -1: they have no such API.
    :ivar oldest: per request class the oldest one.
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
        self.links: list[Link] = []
        self.dialled: list[tuple[str, int]] = []
        self.requests: list[tuple[int, Any]] = []

    def settings(self, kind: str = "producer", **more: Any) -> ClientSettings:
        """Settings of a client of these brokers; names with underscores."""
        values = {"bootstrap_servers": "broker1:9092", "kafkatx_endpoint": self.endpoint, **more}
        return ClientSettings.load(kind, values)

    def cluster(self, kind: str = "producer", **more: Any) -> Cluster:
        """A client's cluster, not started."""
        return Cluster(self.settings(kind, **more), self.clock)

    def started(self, kind: str = "producer", **more: Any) -> Cluster:
        """A client's cluster that has its first metadata."""
        cluster = self.cluster(kind, **more)
        self.result(cluster.start())
        return cluster

    def endpoint(self, reactor: Any, host: str, port: int) -> Endpoint:
        """What ``kafkatx.endpoint`` asks for."""
        return Endpoint(self, host, port)

    def sent(self, request: type[Any]) -> list[Any]:
        """All requests of one class so far."""
        return [message for _, message in self.requests if isinstance(message, request)]

    def live(self, node: int | None = None) -> list[Link]:
        """The connections that are open, to one node or to all."""
        return [link for link in self.links if not link.gone and node in (None, link.node)]

    def kill(self, node: int) -> None:
        """As kill -9: the connections break, and no new ones are accepted."""
        self.down.add(node)
        for link in self.live(node):
            link.lose()

    def pump(self, seconds: float = 0.0) -> None:
        """Let time pass, then carry what there is to carry, and what comes of that."""
        self.clock.advance(seconds)
        for _ in range(MOST_ROUNDS):
            moved = [link.move() for link in self.live()]
            if not any(moved):
                return
            self.clock.advance(0)
        raise AssertionError("client and brokers talk for ever")

    def run(self, seconds: float, step: float = 0.05) -> None:
        """Let time pass in steps."""
        for _ in range(round(seconds / step)):
            self.pump(step)

    def result(self, waiting: Deferred[Any], seconds: float = 0.0) -> Any:
        """Pump until the Deferred fires, within *seconds* of the clock; its result, or its error raised."""
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
    """The way to one address."""

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
        """Read what the client sent, send what is ready; whether there was anything."""
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
        """Take what was sent; but a broker does not look at what is behind a member that waits for others."""
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
        """What the broker speaks."""
        newest, oldest = self._network.newest, self._network.oldest
        told = [
            ApiVersion(
                api.key,
                oldest.get(api.request, api.versions[0]),
                newest.get(api.request, api.versions[-1]),
            )
            for api in APIS.values()
            if newest.get(api.request, 0) >= 0
        ]
        return ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=told)

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
        """The connection breaks."""
        if not self.gone:
            self.gone = True
            self.protocol.connectionLost(Failure(reason or ConnectionLost()))

    def getHandle(self) -> Link:
        """Stands for its socket, too."""
        return self

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """Note it."""
        self.options.append((level, option, value))

    def loseConnection(self) -> None:
        """The client closes: after what it has sent."""
        super().loseConnection()
        self._closing = ConnectionDone()

    def abortConnection(self) -> None:
        """The client closes at once."""
        self._network.clock.callLater(0, self.lose, ConnectionLost())
