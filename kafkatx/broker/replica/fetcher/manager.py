"""The replica fetcher manager: which partitions this broker copies, and from which broker.

It touches connections to other brokers (:mod:`~kafkatx.broker.replica.fetcher.replica_fetcher`) and the
clock it is handed. Roles come from :mod:`kafkatx.broker.replica.topics`, addresses and broker epochs from the
metadata store. A leader that is not live is copied when it has registered; one that has registered again, or
has another address, gets a new connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.replica.flushes import FlushScheduler
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import Following
from kafkatx.broker.replica.throttles import ReplicationThrottle
from kafkatx.broker.replica.topics import Topics
from kafkatx.config import BrokerConfig
from kafkatx.config.table import replication
from kafkatx.interfaces import ILogStore, IMetadataStore
from kafkatx.net.limited_log import LimitedLog
from kafkatx.types import BrokerNode, ClusterDelta

if TYPE_CHECKING:  # a broker that is alone copies nothing: it does not import a client
    from kafkatx.broker.replica.fetcher.follower import Follower
    from kafkatx.broker.replica.fetcher.replica_fetcher import ReplicaFetcher
    from kafkatx.networkclient.connection import MakeEndpoint

FIRST_PAUSE_MS = 50
"""The first pause after an error; later ones double, up to ``replica.fetch.backoff.ms``."""

CONNECT_S = 10.0
"""Longest time to connect to a broker."""


class ReplicaFetcherManager:
    """Copies the partitions that other brokers lead.

    :param throttle: of copies that come to this broker.
    :param make_endpoint: makes the endpoint of (reactor, host, port); None: TCP.
    """

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        topics: Topics,
        store: ILogStore,
        flushes: FlushScheduler,
        clock: IReactorTime,
        limited_log: LimitedLog,
        throttle: ReplicationThrottle,
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._topics = topics
        self._store = store
        self._flushes = flushes
        self._clock = clock
        self._limited_log = limited_log
        self._throttle = throttle
        self._make_endpoint = make_endpoint
        self._broker_id: int = config.get("broker.id")
        self._followers: dict[Partition, Follower] = {}
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._running = False
        topics.replica_listeners.append(self._look_at)
        metadata.subscribe(self._follow)

    def start(self) -> None:
        """Begin to copy: this broker is registered."""
        self._running = True
        if self._metadata.lease_remaining_s is not None:  # now, not after an upgrade of the package
            import kafkatx.broker.replica.fetcher.replica_fetcher
            import kafkatx.networkclient.connection  # noqa: F401
        for name in list(self._topics.partitions):
            for partition in self._topics.of(name):
                self._look_at(partition)

    def stop(self) -> Deferred[None]:
        """End all copying; fires when every connection is closed. Nothing is appended any more."""
        self._running = False
        self._followers.clear()
        fetchers, self._fetchers = list(self._fetchers.values()), {}
        return gatherResults([fetcher.stop() for fetcher in fetchers]).addCallback(lambda _: None)

    # --- roles

    def _look_at(self, partition: Partition) -> None:
        """Copy a partition as its role says: the role, leader or leader epoch may have changed."""
        if not self._running:
            return
        role, known = partition.role, self._followers.get(partition)
        if known is not None:
            if known.role == role:
                return
            self._drop(known)
        if isinstance(role, Following):
            follower = self._followers[partition] = self._make_follower(partition, role)
            follower.has_new_start = known is not None and (known.has_new_start or known.flushing is not None)
            self._place(follower)

    def _drop(self, follower: Follower) -> None:
        del self._followers[follower.partition]
        fetcher = self._fetchers.get(follower.role.leader)
        if fetcher is not None:
            fetcher.remove(follower)
            if not fetcher.followers:
                self._clock.callLater(0, self._close_unused, fetcher)

    def _close_unused(self, fetcher: ReplicaFetcher) -> None:
        """Close a connection over which nothing is copied; a change of roles may have used it again."""
        if not fetcher.followers and self._fetchers.get(fetcher.source.id) is fetcher:
            del self._fetchers[fetcher.source.id]
            fetcher.stop()

    def _make_follower(self, partition: Partition, role: Following) -> Follower:
        from kafkatx.broker.replica.fetcher.follower import Follower
        from kafkatx.clientcore.backoff import Backoff

        backoff = Backoff(
            first_ms=FIRST_PAUSE_MS, longest_ms=self._config[replication.REPLICA_FETCH_BACKOFF_MS]
        )
        return Follower(
            partition,
            role,
            self._store.topic_id(partition.topic_partition),
            self._clock,
            self._flushes,
            backoff,
            self._limited_log,
            self._throttle,
            lambda: self._store.checkpoint_log_start(partition.topic_partition),
            lambda: self._wake(role.leader),
        )

    def _wake(self, leader: int) -> None:
        fetcher = self._fetchers.get(leader)
        if fetcher is not None:
            fetcher.wake()

    # --- brokers

    def _follow(self, delta: ClusterDelta) -> None:
        """Apply a change of the live brokers."""
        brokers = self._metadata.state.brokers
        if not self._running or delta.before.brokers is brokers:
            return
        for broker_id, fetcher in list(self._fetchers.items()):
            if not _is_same(fetcher.source, brokers.get(broker_id)):
                del self._fetchers[broker_id]
                fetcher.stop()
        for follower in self._followers.values():
            if follower.role.leader not in self._fetchers or (
                follower not in self._fetchers[follower.role.leader].followers
            ):
                self._place(follower)

    def _place(self, follower: Follower) -> None:
        """Copy a partition from its leader, if that is live."""
        node = self._metadata.state.brokers.get(follower.role.leader)
        if node is None:
            return
        fetcher = self._fetchers.get(node.id)
        if fetcher is None:
            fetcher = self._fetchers[node.id] = self._make_fetcher(node)
        fetcher.add(follower)

    def _make_fetcher(self, node: BrokerNode) -> ReplicaFetcher:
        from kafkatx.broker.replica.fetcher.replica_fetcher import FetchLimits, ReplicaFetcher
        from kafkatx.clientcore.backoff import Backoff
        from kafkatx.networkclient.connection import BrokerConnection
        from kafkatx.networkclient.protocol import ConnectionLimits

        config = self._config
        timeout_s = config[replication.REPLICA_SOCKET_TIMEOUT_MS] / 1000
        backoff = Backoff(
            first_ms=FIRST_PAUSE_MS, longest_ms=config[replication.REPLICA_FETCH_BACKOFF_MS], jitter=0.0
        )
        connection = BrokerConnection(
            self._clock,
            node.internal or (node.host, node.port),
            client_id=f"broker-{self._broker_id}-fetcher-{node.id}",
            limits=ConnectionLimits(request_s=timeout_s),
            connect_s=min(timeout_s, CONNECT_S),
            backoff=backoff,
            make_endpoint=self._make_endpoint,
        )
        limits = FetchLimits(
            config[replication.REPLICA_FETCH_WAIT_MAX_MS],
            config[replication.REPLICA_FETCH_MIN_BYTES],
            config[replication.REPLICA_FETCH_MAX_BYTES],
            config[replication.REPLICA_FETCH_RESPONSE_MAX_BYTES],
            timeout_s,
        )
        return ReplicaFetcher(
            node, connection, self._own_node, limits, self._clock, backoff, self._limited_log
        )

    def _own_node(self) -> BrokerNode | None:
        return self._metadata.state.brokers.get(self._broker_id)


def _is_same(one: BrokerNode, other: BrokerNode | None) -> bool:
    """Return True if both are the same life of a broker at the same address."""
    if other is None or one.epoch != other.epoch:
        return False
    return (one.host, one.port, one.internal) == (other.host, other.port, other.internal)
