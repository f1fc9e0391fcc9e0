"""The tree on an ensemble of three ZooKeeper servers: its contract, a killed leader, frozen servers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import cast

from kazoo.client import KazooClient
from twisted.internet import reactor
from twisted.internet.defer import DeferredQueue
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import ConnectionLost, Create, NodeExists, SessionState, SetData
from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings, ZooKeeperTree
from kafkatx.metadata.tree.zookeeper.session import KazooSession
from kafkatx.net.workers import ThreadWorkers
from kafkatx.testing.contracts.tree import TreeContract
from kafkatx.testing.zookeeper import ZooKeeperServer
from tests.integration.ensemble import shared_ensemble
from tests.integration.test_zookeeper import boottime_s
from tests.integration.zookeeper import Proxy, end_session

_REACTOR = cast(IReactorFromThreads, reactor)
_NUMBERS = itertools.count()


class EnsembleCase(TestCase):
    """Trees on the ensemble, all below the chroot of the test."""

    timeout = 180
    session_timeout_s = 8.0

    def setUp(self) -> None:
        """Start the ensemble if no test has, and what other tests have stopped."""
        self.ensemble = shared_ensemble()
        self.chroot = f"/test/{next(_NUMBERS)}"
        self.workers = ThreadWorkers(_REACTOR)
        self.addCleanup(self.workers.stop)
        self.ensemble.restore()

    def connect_to(self, ports: Sequence[int]) -> ZooKeeperTree:
        """Return a tree without a session that connects to some ports."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        settings = ZooKeeperSettings(hosts + self.chroot, self.session_timeout_s, 30.0)
        worker = self.workers(f"zookeeper {next(_NUMBERS)}")
        return ZooKeeperTree(settings, _REACTOR, worker, boottime_s)

    async def tree(self, *servers: ZooKeeperServer) -> ZooKeeperTree:
        """Return a tree with a session on some servers, on all if none is named."""
        tree = self.connect_to([server.port for server in servers or self.ensemble.servers])
        await tree.connect()
        self.addCleanup(tree.close)
        return tree

    def states(self, tree: ITree) -> DeferredQueue[SessionState]:
        """Return a queue of the states of a session."""
        states: DeferredQueue[SessionState] = DeferredQueue()
        tree.subscribe(states.put)
        return states


class EnsembleTreeTests(EnsembleCase, TreeContract):
    """Each tree has a proxy in front of each server."""

    def setUp(self) -> None:
        """Close the proxies after each test."""
        self.proxies: dict[ITree, list[Proxy]] = {}
        super().setUp()
        self.addCleanup(self.stop_proxies)

    async def stop_proxies(self) -> None:
        """Close all connections."""
        for proxy in itertools.chain(*self.proxies.values()):
            proxy.cut()
            stopped = proxy.listening.stopListening()
            if stopped is not None:
                await stopped

    def make_tree(self) -> ITree:
        """Return a tree behind proxies."""
        proxies = [Proxy(server.port) for server in self.ensemble.servers]
        tree = self.connect_to([proxy.port for proxy in proxies])
        self.proxies[tree] = proxies
        return tree

    async def hold(self, tree: ITree, applied: bool) -> None:
        """Hold replies, or both directions."""
        for proxy in self.proxies[tree]:
            proxy.hold_replies = True
            proxy.hold_requests = not applied

    async def cut(self, tree: ITree) -> None:
        """Close the connections."""
        for proxy in self.proxies[tree]:
            proxy.cut()

    async def heal(self, tree: ITree) -> None:
        """Accept connections."""
        for proxy in self.proxies[tree]:
            proxy.heal()

    async def expire(self, tree: ITree) -> None:
        """Close the session over another connection, while the tree can get none.

        Otherwise it might come back between the two steps of the other one, take the session with it to
        another server, and keep it.
        """
        assert isinstance(tree, ZooKeeperTree)
        assert isinstance(tree._session, KazooSession)
        identity = tree._session.client.client_id
        await self.cut(tree)
        await deferToThread(end_session, self.ensemble.servers[0].port, identity)
        await self.heal(tree)


class FaultTests(EnsembleCase):
    async def test_leader_killed(self) -> None:
        """Writes go on with another leader: none that was acknowledged is lost, and the session lives on."""
        tree = await self.tree()
        session_id = tree.session_id
        await tree.multi([Create("/ephemeral", ephemeral=True)])
        acknowledged, doubtful = set(), set()
        for number in range(60):
            if number == 20:
                await deferToThread(self.ensemble.leader().kill)
            while True:
                try:
                    await tree.multi([Create(f"/n{number}"), SetData("/ephemeral", b"%d" % number)])
                except ConnectionLost:
                    doubtful.add(number)
                    await deferLater(reactor, 0.05, lambda: None)
                except NodeExists:
                    self.assertIn(number, doubtful)
                    break
                else:
                    acknowledged.add(f"n{number}")
                    break
        self.assertGreater(len(acknowledged), 50)
        other = await self.tree()
        await other.sync()
        self.assertLessEqual(acknowledged, set(await other.children("/")))
        data, stat = await other.read("/ephemeral")
        self.assertEqual((data, stat.ephemeral_owner, tree.session_id), (b"59", session_id, session_id))

    async def test_minority(self) -> None:
        """A server that is cut off from the others takes no write; the session goes on when they are back."""
        alone, *others = self.ensemble.followers()
        others.append(self.ensemble.leader())
        tree = await self.tree(alone)
        session_id = tree.session_id
        await tree.multi([Create("/a", b"before", ephemeral=True)])
        states = self.states(tree)
        for server in others:
            server.freeze()
        write = tree.multi([SetData("/a", b"meanwhile")])
        await self.assertFailure(write, ConnectionLost)
        self.assertEqual(await states.get(), SessionState.SUSPENDED)
        self.assertLess(tree.lease_remaining_s(), self.session_timeout_s)
        for server in others:
            server.thaw()
        self.assertEqual(await states.get(), SessionState.CONNECTED)
        self.assertEqual(tree.session_id, session_id)
        await tree.multi([SetData("/a", b"after")])
        self.assertEqual((await tree.read("/a"))[0], b"after")

    async def test_frozen_server(self) -> None:
        """A session moves from a server that does not answer to another one, with its ephemeral nodes."""
        tree = await self.tree()
        session_id = tree.session_id
        await tree.multi([Create("/b", ephemeral=True)])
        states = self.states(tree)
        assert isinstance(tree._session, KazooSession)
        client = tree._session.client
        assert isinstance(client, KazooClient)
        port = client._connection._socket.getpeername()[1]
        (server,) = (each for each in self.ensemble.servers if each.port == port)
        server.freeze()
        self.assertEqual(await states.get(), SessionState.SUSPENDED)
        self.assertEqual(await states.get(), SessionState.CONNECTED)
        self.assertEqual(tree.session_id, session_id)
        self.assertEqual((await tree.children("/")), ["b"])

    async def test_sync(self) -> None:
        """A read after sync() sees every write of another session that was acknowledged before, also on the
        server that leads."""
        first, second = self.ensemble.followers()
        writer = await self.tree(first)
        readers = [await self.tree(server) for server in (second, self.ensemble.leader())]
        await writer.multi([Create("/a")])
        for number in range(300):
            await writer.multi([SetData("/a", b"%d" % number)])
            asked = [(reader.sync(), reader.read("/a")) for reader in readers]
            for synced, read in asked:
                await synced
                self.assertEqual((await read)[0], b"%d" % number)

    async def test_sync_without_quorum(self) -> None:
        """A leader without followers does not answer sync(): another one may have taken its place."""
        reader = await self.tree(self.ensemble.leader())
        for server in self.ensemble.followers():
            server.freeze()
        await self.assertFailure(reader.sync(), ConnectionLost)
