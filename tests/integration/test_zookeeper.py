"""The tree on a real ZooKeeper server keeps the contract of trees, and its lease ends while it is frozen."""

from __future__ import annotations

import itertools
import logging
import time
from typing import cast

from kazoo.client import KazooClient
from twisted.internet import reactor
from twisted.internet.defer import DeferredQueue
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Change, Create, NodeStat, SessionState, SetData
from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings, ZooKeeperTree
from kafkatx.metadata.tree.zookeeper.session import KazooSession
from kafkatx.net.workers import ThreadWorkers
from kafkatx.testing.contracts.tree import TreeContract
from tests.integration.zookeeper import Proxy, end_session, shared_server

_REACTOR = cast(IReactorFromThreads, reactor)
_NUMBERS = itertools.count()


def boottime_s() -> float:
    """Return the clock of leases."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class ZooKeeperCase(TestCase):
    """Trees on one server, each behind a proxy of its own, all below the chroot of the test."""

    timeout = 120
    session_timeout_s = 6.0

    def setUp(self) -> None:
        """Start the server if no test has."""
        self.server = shared_server()
        kazoo = logging.getLogger("kazoo")
        self.addCleanup(kazoo.setLevel, kazoo.level)
        kazoo.setLevel(logging.CRITICAL)
        self.chroot = f"/test/{next(_NUMBERS)}"
        self.workers = ThreadWorkers(_REACTOR)
        self.addCleanup(self.workers.stop)
        self.proxies: dict[ITree, Proxy] = {}
        self.addCleanup(self.stop_proxies)

    async def stop_proxies(self) -> None:
        """Close all connections."""
        for proxy in self.proxies.values():
            proxy.cut()
            stopped = proxy.listening.stopListening()
            if stopped is not None:
                await stopped

    def make_tree(self) -> ITree:
        """Return a tree behind a proxy."""
        proxy = Proxy(self.server.port)
        settings = ZooKeeperSettings(f"127.0.0.1:{proxy.port}{self.chroot}", self.session_timeout_s, 30.0)
        tree = ZooKeeperTree(settings, _REACTOR, self.workers(f"zookeeper-{proxy.port}"), boottime_s)
        self.proxies[tree] = proxy
        return tree


class ZooKeeperTreeTests(ZooKeeperCase, TreeContract):
    async def hold(self, tree: ITree, applied: bool) -> None:
        """Hold replies, or both directions."""
        self.proxies[tree].hold_replies = True
        self.proxies[tree].hold_requests = not applied

    async def cut(self, tree: ITree) -> None:
        """Close the connections."""
        self.proxies[tree].cut()

    async def heal(self, tree: ITree) -> None:
        """Accept connections."""
        self.proxies[tree].heal()

    async def expire(self, tree: ITree) -> None:
        """Close the session over another connection, while the tree can get none to take it back."""
        assert isinstance(tree, ZooKeeperTree)
        assert isinstance(tree._session, KazooSession)
        identity = tree._session.client.client_id
        await self.cut(tree)
        await deferToThread(end_session, self.server.port, identity)
        await self.heal(tree)


class ServerTests(ZooKeeperCase):
    async def test_lease_of_the_servers_time_out(self) -> None:
        """The lease follows the time-out that the server grants, which is less than what is asked for."""
        self.session_timeout_s = 600.0
        tree = self.make_tree()
        await tree.connect()
        await tree.multi([Create("/a")])
        self.assertTrue(5 < tree.lease_remaining_s() <= 8)
        await tree.close()

    async def test_frozen_server(self) -> None:
        """A tree whose server is frozen is SUSPENDED, and hears again when the server goes on."""
        self.session_timeout_s = 2.0
        tree = self.make_tree()
        await tree.connect()
        await tree.multi([Create("/a", ephemeral=True)])
        states: DeferredQueue[SessionState] = DeferredQueue()
        tree.subscribe(states.put)
        changes: DeferredQueue[Change] = DeferredQueue()
        await tree.exists("/a", changes.put)
        self.server.freeze()
        self.addCleanup(self.server.thaw)
        self.assertEqual(await changes.get(), Change.LOST)
        self.assertEqual(await states.get(), SessionState.SUSPENDED)
        self.server.thaw()
        self.assertIn(await states.get(), (SessionState.CONNECTED, SessionState.LOST))
        await tree.close()

    async def test_null_data(self) -> None:
        """A node whose data are null, as Apache Kafka makes many, is read as an empty one."""
        tree = self.make_tree()
        await tree.connect()

        def create() -> None:
            other = KazooClient(f"127.0.0.1:{self.server.port}{self.chroot}")
            other.start()
            other.create("/null", None)
            other.stop()
            other.close()

        await deferToThread(create)
        self.assertEqual((await tree.read("/null"))[0], b"")
        await tree.close()

    async def test_many_requests(self) -> None:
        """More requests than kazoo takes at once are all answered, in order."""
        tree = self.make_tree()
        await tree.connect()
        await tree.multi([Create("/a")])
        fired: list[int] = []
        writes = [tree.multi([SetData("/a", b"%d" % number)]) for number in range(1000)]
        for write in writes:
            write.addCallback(lambda results: fired.append(cast(NodeStat, results[0]).version))
        await writes[-1]
        self.assertEqual(fired, list(range(1, 1001)))
        self.assertEqual((await tree.read("/a"))[0], b"999")
        await tree.close()
