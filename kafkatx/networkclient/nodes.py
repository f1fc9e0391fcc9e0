"""The connections of a cluster, by address and purpose."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

from twisted.internet.defer import Deferred, gatherResults

from kafkatx.clientcore.bootstrap import Address, format_address
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.networkclient.connection import BrokerConnection
from kafkatx.types import BrokerNode

Lane = str
"""What a connection is for. A broker answers the requests of a connection one after the other: what may wait
for long there (a member that joins its group) has a lane of its own, so that nothing waits behind it."""


class Nodes:
    """Which connection leads to which broker.

    Connections are kept by address, so that the one to a bootstrap server is its broker's, too, where both
    are called the same.

    :param make: makes the connection to an address.
    """

    def __init__(self, bootstrap: Iterable[Address], make: Callable[[Address], BrokerConnection]) -> None:
        self._bootstrap = list(bootstrap)
        self._make = make
        self._brokers: Mapping[int, BrokerNode] = {}
        self._told: dict[int, BrokerNode] = {}
        self._connections: dict[tuple[Address, Lane], BrokerConnection] = {}
        self._by_id: dict[tuple[int, Lane], BrokerConnection] = {}

    def update(self, brokers: Mapping[int, BrokerNode]) -> None:
        """The cluster has these brokers now; connections to others are closed."""
        if brokers == self._brokers:
            return
        self._brokers = brokers
        self._told = {}
        self._by_id.clear()
        wanted = {*self._bootstrap, *((node.host, node.port) for node in brokers.values())}
        for key in [key for key in self._connections if key[0] not in wanted]:
            gone = ConnectionFailed(f"the broker at {format_address(key[0])} is not in the cluster any more")
            self._connections.pop(key).close(gone)

    def told(self, node: BrokerNode) -> None:
        """A broker was named outside of metadata, which counts where it has that broker, too."""
        self._told[node.id] = node
        for key in [key for key in self._by_id if key[0] == node.id]:
            del self._by_id[key]

    def known(self, node_id: int) -> bool:
        """Whether it is known where this broker is."""
        return node_id in self._brokers or node_id in self._told

    def at(self, node_id: int, lane: Lane = "") -> BrokerConnection:
        """The connection to a broker.

        :raises ConnectionFailed: there is no such broker.
        """
        connection = self._by_id.get((node_id, lane))
        if connection is None:
            node = self._brokers.get(node_id) or self._told.get(node_id)
            if node is None:
                raise ConnectionFailed(f"the cluster has no broker {node_id} now")
            connection = self._by_id[node_id, lane] = self._to((node.host, node.port), lane)
        return connection

    def candidates(self, lane: Lane = "") -> list[BrokerConnection]:
        """Where to ask what any broker can answer, the best first.

        Brokers that are connected and have the least to do, then others, then those that failed last time,
        and the bootstrap servers behind them; in random order where that says nothing.
        """
        brokers = [self.at(node_id, lane) for node_id in self._brokers]
        random.shuffle(brokers)
        brokers.sort(key=lambda one: (one.failing, not one.connected, one.in_flight))
        bootstrap = [self._to(address, lane) for address in self._bootstrap]
        return list(dict.fromkeys([*brokers, *bootstrap]))

    def _to(self, address: Address, lane: Lane) -> BrokerConnection:
        connection = self._connections.get((address, lane))
        if connection is None:
            connection = self._connections[address, lane] = self._make(address)
        return connection

    def close(self) -> Deferred[list[None]]:
        """Close all; fires when they are."""
        connections, self._connections = list(self._connections.values()), {}
        self._by_id.clear()
        return gatherResults([connection.close() for connection in connections])
