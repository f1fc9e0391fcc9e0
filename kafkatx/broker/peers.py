"""Connections to the other brokers, for the requests of coordinators; made when they are first needed.

It touches connections (:mod:`kafkatx.networkclient.connection`) and the clock. A broker that has registered
again, or has another address, gets a new connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, fail, gatherResults
from twisted.internet.interfaces import IReactorTime

from kafkatx.config import BrokerConfig
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import BrokerNode, ClusterDelta
from kafkatx.wire.schema import Message

if TYPE_CHECKING:  # a broker that is alone has no peers: it does not import a client
    from kafkatx.networkclient.connection import BrokerConnection, MakeEndpoint

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 50, 1000
"""The pause after a connection has failed; it doubles with each failure."""

CONNECT_S, REQUEST_S = 5.0, 15.0
"""Longest time to connect, and to wait for a reply."""


class Peers:
    """The other brokers of the cluster.

    :param make_endpoint: makes the endpoint of (reactor, host, port); None: TCP.
    :param purpose: a word that ends the client id of the requests.
    """

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        clock: IReactorTime,
        make_endpoint: MakeEndpoint | None = None,
        purpose: str = "coordinator",
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._broker_id: int = config.get("broker.id")
        self._purpose = purpose
        self._clock = clock
        self._make_endpoint = make_endpoint
        self._connections: dict[int, tuple[BrokerNode, BrokerConnection]] = {}
        self._stopped = False
        metadata.subscribe(self._follow)

    def apart(self, purpose: str) -> Peers:
        """Return connections of their own for another purpose: its requests delay no others."""
        return Peers(self._config, self._metadata, self._clock, self._make_endpoint, purpose)

    def request(self, node: BrokerNode, message: Message, version: int | None = None) -> Deferred[Any]:
        """Send a request; fires with the response.

        :param version: None: the highest version that both brokers speak. ApiVersions does not list requests
            of kafkatx alone.
        :return: fails with KafkaTXError: no connection, no answer in time, or the version is not offered.
        """
        if self._stopped:
            return fail(KafkaTXError("this broker is stopping"))
        return self._connection(node).request(message, version=version)

    def _connection(self, node: BrokerNode) -> BrokerConnection:
        known = self._connections.get(node.id)
        if known is not None:
            if known[0] == node:
                return known[1]
            known[1].close()
        connection = self._make(node)
        self._connections[node.id] = (node, connection)
        return connection

    def _make(self, node: BrokerNode) -> BrokerConnection:
        from kafkatx.clientcore.backoff import Backoff
        from kafkatx.networkclient.connection import BrokerConnection
        from kafkatx.networkclient.protocol import ConnectionLimits

        return BrokerConnection(
            self._clock,
            node.internal or (node.host, node.port),
            client_id=f"broker-{self._broker_id}-{self._purpose}",
            limits=ConnectionLimits(request_s=REQUEST_S),
            connect_s=CONNECT_S,
            backoff=Backoff(first_ms=FIRST_PAUSE_MS, longest_ms=LONGEST_PAUSE_MS, jitter=0.0),
            make_endpoint=self._make_endpoint,
        )

    def _follow(self, delta: ClusterDelta) -> None:
        """Close the connections to brokers that are gone, or have registered again."""
        brokers = delta.after.brokers
        if delta.before.brokers is brokers:
            return
        for broker_id, (node, connection) in list(self._connections.items()):
            if brokers.get(broker_id) != node:
                del self._connections[broker_id]
                connection.close()

    def stop(self) -> Deferred[None]:
        """Close all connections; fires when they are closed."""
        self._stopped = True
        connections = [connection for _, connection in self._connections.values()]
        return gatherResults([one.close() for one in connections]).addCallback(lambda _: None)
