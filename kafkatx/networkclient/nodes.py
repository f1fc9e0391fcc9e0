"""The connections of a cluster, by address and lane.

Opens none: a :class:`~kafkatx.networkclient.connection.BrokerConnection` opens itself for its first request.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

from twisted.internet.defer import Deferred, gatherResults

from kafkatx.clientcore.bootstrap import Address, format_address
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.networkclient.connection import BrokerConnection
from kafkatx.types import BrokerNode

Lane = str
"""The purpose of a connection. A broker answers the requests of one connection in order, so a request that
may wait for long there (JoinGroup) goes over a lane of its own and does not delay others."""


class Nodes:
    """The brokers of a cluster and the connections to them.

    Connections are kept by address: a bootstrap server and the broker that advertises the same address share
    one.

    :param make: makes the connection to an address.
    """

    def __init__(self, bootstrap: Iterable[Address], make: Callable[[Address], BrokerConnection]) -> None:
        self._bootstrap = list(bootstrap)
        self._make = make
        self._brokers: Mapping[int, BrokerNode] = {}
        self._added: dict[int, BrokerNode] = {}
        self._connections: dict[tuple[Address, Lane], BrokerConnection] = {}
        self._by_id: dict[tuple[int, Lane], BrokerConnection] = {}

    def update(self, brokers: Mapping[int, BrokerNode]) -> None:
        """Replace the brokers by those of new metadata; close connections to addresses that are gone."""
        if brokers == self._brokers:
            return
        self._brokers = brokers
        self._added = {}
        self._by_id.clear()
        self._close_unwanted()

    def set_bootstrap(self, addresses: Iterable[Address]) -> None:
        """Replace the bootstrap servers; close connections to addresses that are gone."""
        self._bootstrap = list(addresses)
        self._close_unwanted()

    def _close_unwanted(self) -> None:
        wanted = {*self._bootstrap, *((node.host, node.port) for node in self._brokers.values())}
        wanted.update((node.host, node.port) for node in self._added.values())
        for key in [key for key in self._connections if key[0] not in wanted]:
            gone = ConnectionFailed(f"the broker at {format_address(key[0])} has left the cluster")
            self._connections.pop(key).close(gone)

    def add(self, node: BrokerNode) -> None:
        """Add a broker named by a FindCoordinator reply; metadata takes precedence for the same id."""
        self._added[node.id] = node
        for key in [key for key in self._by_id if key[0] == node.id]:
            del self._by_id[key]

    def known(self, node_id: int) -> bool:
        """Return True if the broker's address is known."""
        return node_id in self._brokers or node_id in self._added

    def at(self, node_id: int, lane: Lane = "") -> BrokerConnection:
        """Return the connection to a broker.

        :raises ConnectionFailed: there is no such broker.
        """
        connection = self._by_id.get((node_id, lane))
        if connection is None:
            node = self._brokers.get(node_id) or self._added.get(node_id)
            if node is None:
                raise ConnectionFailed(f"the cluster has no broker {node_id} now")
            connection = self._by_id[node_id, lane] = self._to((node.host, node.port), lane)
        return connection

    def candidates(self, lane: Lane = "") -> list[BrokerConnection]:
        """Return connections for a request that any broker can answer, the best first.

        Connected brokers with the fewest requests in flight come first, then disconnected ones, then those
        whose last attempt to connect failed, then the bootstrap servers. Ties are in random order.
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
        """Close all connections; fires when they are closed."""
        connections, self._connections = list(self._connections.values()), {}
        self._by_id.clear()
        return gatherResults([connection.close() for connection in connections])
