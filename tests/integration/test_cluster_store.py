"""The metadata stores of a cluster keep their contract, on a real ZooKeeper and on a local tree."""

from __future__ import annotations

import os
from typing import Any, cast

from twisted.internet import reactor
from twisted.internet.interfaces import IReactorTime
from twisted.internet.threads import deferToThread

from kafkatx.interfaces import IMetadataStore, ITree
from kafkatx.metadata.cluster.factories import now_ms
from kafkatx.metadata.cluster.store import ClusterMetadataStore, ClusterOptions
from kafkatx.metadata.tree.local import LocalTree
from kafkatx.metadata.tree.zookeeper import ZooKeeperTree
from kafkatx.metadata.tree.zookeeper.session import KazooSession
from kafkatx.testing.contracts.cluster import ClusterStoreContract
from tests.integration.test_zookeeper import ZooKeeperCase
from tests.integration.zookeeper import end_session
from tests.metadata.tree.local.proxy import Proxy
from tests.metadata.tree.local.test_tree import LocalTreeCase

SESSION_S = 4.0
MANY = 10_000
"""Partitions of a large cluster."""


class StoreCase(ClusterStoreContract):
    """Stores on trees behind proxies, which cut them off.

    :ivar proxies: the proxy of each tree.
    """

    timeout = 60
    proxies: Any

    def make_store(self) -> IMetadataStore:
        """Return a store with a tree of its own."""
        tree = self.make_tree()
        options = ClusterOptions("the test's tree")
        store = ClusterMetadataStore(tree, cast(IReactorTime, reactor), options, now_ms)
        self.trees()[store] = tree
        return store

    def trees(self) -> dict[IMetadataStore, ITree]:
        """Return the tree of each store."""
        trees: dict[IMetadataStore, ITree] = self.__dict__.setdefault("_trees", {})
        return trees

    async def cut(self, store: IMetadataStore) -> None:
        """Close the connections."""
        self.proxies[self.trees()[store]].cut()

    async def heal(self, store: IMetadataStore) -> None:
        """Accept connections."""
        self.proxies[self.trees()[store]].heal()


class ZooKeeperStoreTests(ZooKeeperCase, StoreCase):
    """Stores on ZooKeeper."""

    timeout = 60
    session_timeout_s = SESSION_S

    async def expire(self, store: IMetadataStore) -> None:
        """Close the session over another connection, while the tree can get none to take it back."""
        tree = self.trees()[store]
        assert isinstance(tree, ZooKeeperTree)
        assert isinstance(tree._session, KazooSession)
        identity = tree._session.client.client_id
        await self.cut(store)
        await deferToThread(end_session, self.server.port, identity)
        await self.heal(store)

    async def test_many_partitions(self) -> None:
        """A broker that joins a cluster with many partitions loads them within its session's time-out."""
        first = await self.started(1)
        for number in range(4):
            await first.create_topic(f"t{number}", [[1]] * (MANY // 4), {})
        second = await self.started(2)
        self.assertEqual(sum(len(topic.partitions) for topic in second.state.topics.values()), MANY)
        await self.until(
            second,
            lambda state: all(
                each.leader == 1 for topic in state.topics.values() for each in topic.partitions
            ),
        )


class LocalStoreTests(StoreCase, LocalTreeCase):
    """Stores on the tree of one machine."""

    def make_tree(self) -> LocalTree:
        """Return a tree behind a proxy."""
        self.proxies = self.__dict__.setdefault("_proxies", {})
        proxy = Proxy(reactor, os.path.join(self.folder, f"{len(self.proxies)}.sock"), self.socket)
        self.addCleanup(proxy.stop)
        tree = self.new_tree(proxy.path, SESSION_S)
        self.proxies[tree] = proxy
        return tree

    async def expire(self, store: IMetadataStore) -> None:
        """End the session at the server."""
        session_id = self.trees()[store].session_id
        assert session_id is not None
        self.listener.server.expire(session_id)
