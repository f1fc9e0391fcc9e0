"""Sessions of clients with a server that goes and comes back, and what may be asked."""

from __future__ import annotations

import os

from twisted.internet.defer import DeferredQueue

from kafkatx.interfaces.nodes import (
    Change,
    Create,
    NoNode,
    Refused,
    SessionExpired,
    SessionState,
    SetData,
)
from kafkatx.metadata.tree.local import LocalTree
from kafkatx.metadata.tree.local import session as session_module
from kafkatx.metadata.tree.local.server import Session
from kafkatx.metadata.tree.local.session import LocalSession
from tests.metadata.tree.local.test_tree import LocalTreeCase

SHORT_S = 0.2


class SessionTests(LocalTreeCase):
    async def connected(self, timeout_s: float = 20.0) -> LocalTree:
        """Return a tree with a session."""
        tree = self.new_tree(self.socket, timeout_s)
        await tree.connect()
        self.addCleanup(tree.close)
        return tree

    def states(self, tree: LocalTree) -> DeferredQueue[SessionState]:
        """Return a queue of the states that a tree reports."""
        states: DeferredQueue[SessionState] = DeferredQueue()
        tree.subscribe(states.put)
        return states

    async def test_closed_while_it_connects(self) -> None:
        """A session that is closed before it begins leaves nothing behind."""
        tree = self.new_tree(os.path.join(self.folder, "nothing.sock"))
        connecting = tree.connect()
        await tree.close()
        await self.failure(SessionExpired, connecting)

    async def test_server_restarts(self) -> None:
        """A session, and its nodes, outlive the server."""
        tree = await self.connected()
        session_id = tree.session_id
        states = self.states(tree)
        await tree.multi([Create("/e", b"1", ephemeral=True)])
        await self.restart()
        self.assertIs(await states.get(), SessionState.SUSPENDED)
        self.assertIs(await states.get(), SessionState.CONNECTED)
        self.assertEqual(tree.session_id, session_id)
        self.assertEqual((await tree.read("/e"))[0], b"1")

    async def test_expired_while_the_server_was_away(self) -> None:
        """A session that a server knows no more is lost; the client begins another one."""
        tree = await self.connected()
        states = self.states(tree)
        changes: DeferredQueue[Change] = DeferredQueue()
        await tree.exists("/e", changes.put)
        await self.listener.stop()
        os.unlink(self.file)
        self.listener = self.new_listener()
        await self.listener.start()
        self.assertIs(await changes.get(), Change.LOST)
        self.assertIs(await states.get(), SessionState.SUSPENDED)
        self.assertIs(await states.get(), SessionState.LOST)
        await tree.connect()
        await tree.multi([Create("/e", ephemeral=True)])

    async def test_idle(self) -> None:
        """A session without requests lives on, by its signs of life."""
        pings: DeferredQueue[None] = DeferredQueue()
        server = self.listener.server
        answer = server.ping

        def ping(session: Session) -> None:
            pings.put(None)
            answer(session)

        self.patch(server, "ping", ping)
        tree = await self.connected(3 * SHORT_S)
        states = self.states(tree)
        for _ in range(5):  # more than a time-out has room for
            await pings.get()
        self.assertEqual((tree.state, states.pending), (SessionState.CONNECTED, []))

    async def test_too_large(self) -> None:
        """A request that the server would not take is refused, and the session goes on."""
        tree = await self.connected()
        self.patch(session_module, "MAX_REQUEST_BYTES", 10_000)
        error = await self.failure(Refused, tree.multi([Create("/a", b"x" * 10_000)]))
        self.assertEqual((error.path, error.index), ("/a", 0))
        self.assertIn("more than", str(error))
        await self.failure(Refused, tree.read("/\ud800", lambda change: None))
        await tree.multi([Create("/a", b"x" * 5_000)])

    async def test_failed_reads(self) -> None:
        """A read that fails leaves no watch behind, though the same path may be read again and again."""
        tree = await self.connected()
        for _ in range(3):
            await self.failure(NoNode, tree.read("/missing", lambda change: None))
        session = tree._session
        assert isinstance(session, LocalSession)
        self.assertEqual((session._watches, session._pending), ({}, {}))

    async def test_large(self) -> None:
        """A node may be nearly as large as a multi, whatever its bytes are."""
        tree = await self.connected()
        data = b"\xff" * 900_000
        await tree.multi([Create("/a", data)])
        self.assertEqual((await tree.read("/a"))[0], data)

    async def test_any_data(self) -> None:
        """Data of nodes are any bytes, paths any text."""
        tree = await self.connected()
        data = bytes(range(256)) * 3
        await tree.multi([Create("/ä €\U0001f600", data), SetData("/", data)])
        self.assertEqual((await tree.read("/ä €\U0001f600"))[0], data)
        self.assertEqual(await tree.children("/"), ["ä €\U0001f600"])
