"""Requests to the live brokers of this broker's own cluster, itself among them, for one purpose.

Addresses are those of the cluster's state; this broker asks itself over a connection, too. It touches
connections (:mod:`kafkatx.networkclient.connection`), one for each broker that was asked.
"""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.bootstrap import Address
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.networkclient.connection import BrokerConnection, MakeEndpoint
from kafkatx.networkclient.protocol import ConnectionLimits
from kafkatx.types import BrokerNode
from kafkatx.wire.schema import Message

IDLE_S = 120.0
"""Seconds without a request after which a connection is closed."""


@attrs.frozen
class Patience:
    """The time-outs of the requests, in seconds, and the pauses after a failed connection."""

    request_s: float
    connect_s: float
    backoff: Backoff


class LiveBrokers:
    """The brokers of this cluster.

    :param own_address: host and port of this broker's own listener.
    :param purpose: a word that ends the client id of the requests.
    :param make_endpoint: makes the endpoint of (reactor, host, port); None: TCP.
    """

    def __init__(
        self,
        broker_id: int,
        own_address: Address,
        metadata: IMetadataStore,
        clock: IReactorTime,
        purpose: str,
        patience: Patience,
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._own_address = own_address
        self._metadata = metadata
        self._clock = clock
        self._client_id = f"broker-{broker_id}-{purpose}"
        self._patience = patience
        self._make_endpoint = make_endpoint
        self._connections: dict[Address, BrokerConnection] = {}

    def node(self, broker_id: int) -> BrokerNode:
        """Return a broker.

        :raises RequestError: LEADER_NOT_AVAILABLE: it is not live.
        """
        node: BrokerNode | None = self._metadata.state.brokers.get(broker_id)
        if node is None:
            raise RequestError(ErrorCode.LEADER_NOT_AVAILABLE, f"broker {broker_id} is not live")
        return node

    async def ask(self, node: BrokerNode, request: Message, version: int | None = None) -> Any:
        """Return a broker's response; close the connections to brokers that are gone.

        :raises KafkaTXError: no connection, no answer in time, or the version is not offered.
        """
        address = self._address(node)
        brokers = self._metadata.state.brokers.values()
        for gone in self._connections.keys() - {address, *map(self._address, brokers)}:
            self._connections.pop(gone).close()
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = BrokerConnection(
                self._clock,
                address,
                client_id=self._client_id,
                limits=ConnectionLimits(request_s=self._patience.request_s, idle_s=IDLE_S),
                connect_s=self._patience.connect_s,
                backoff=self._patience.backoff,
                make_endpoint=self._make_endpoint,
            )
        return await connection.request(request, version=version)

    def _address(self, node: BrokerNode) -> Address:
        if node.id == self._broker_id:
            return self._own_address
        return node.internal or (node.host, node.port)

    def close(self) -> Deferred[None]:
        """Close all connections; fires when they are closed."""
        connections, self._connections = list(self._connections.values()), {}
        return gatherResults([one.close() for one in connections]).addCallback(lambda _: None)
