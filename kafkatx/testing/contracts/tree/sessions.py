"""The part of the contract of trees on sessions, lost connections and expiry."""

from __future__ import annotations

from twisted.internet.defer import DeferredQueue

from kafkatx.interfaces.nodes import (
    Change,
    Check,
    ConnectionLost,
    Create,
    NoNode,
    SessionExpired,
    SessionState,
    SetData,
)
from kafkatx.testing.contracts.tree.case import TreeCase


class SessionsContract(TreeCase):
    """Sessions, lost connections and expiry. Mixin."""

    async def test_ephemerals_end_with_the_session(self) -> None:
        """Check that a closed session's ephemeral nodes are gone, and others' and persistent ones stay."""
        tree, other = await self.connected(), self.make_tree()
        owner = await self.result(other.connect())
        await self.multi(other, Create("/t/a", ephemeral=True), Create("/t/b"))
        await self.multi(tree, Create("/t/c", ephemeral=True))
        changes: DeferredQueue[Change] = DeferredQueue()
        stat = await self.result(tree.exists("/t/a", changes.put))
        assert stat is not None
        self.assertEqual((stat.ephemeral_owner, other.session_id), (owner, owner))
        await self.result(other.close())
        self.assertEqual((other.session_id, other.state), (None, SessionState.CLOSED))
        await self.expect(changes, Change.DELETED)
        self.assertEqual(await self.result(tree.children("/t")), ["b", "c"])

    async def test_states(self) -> None:
        """Check the states from the start to the end, and that listeners hear of CONNECTED before connect."""
        tree = self.make_tree()
        self.assertEqual((tree.state, tree.session_id), (SessionState.CLOSED, None))
        heard: list[object] = []
        tree.subscribe(heard.append)

        def heard_of(session_id: int) -> int:
            heard.append("connected")
            return session_id

        connecting = tree.connect()
        connecting.addCallback(heard_of)
        self.assertEqual(tree.state, SessionState.CONNECTING)
        self.assertRaises(RuntimeError, tree.connect)
        session_id = await self.result(connecting)
        self.assertEqual(heard, [SessionState.CONNECTED, "connected"])
        self.assertEqual((tree.state, tree.session_id), (SessionState.CONNECTED, session_id))
        await self.result(tree.close())
        await self.result(tree.close())
        self.assertEqual(tree.state, SessionState.CLOSED)
        self.assertEqual(len(heard), 2)

    async def test_without_a_session(self) -> None:
        """Check that requests fail with SessionExpired before connect and after close."""
        tree = self.make_tree()
        await self.failed(SessionExpired, tree.read("/"))
        await self.result(tree.connect())
        pending = tree.read("/")
        failed = self.failed(SessionExpired, pending)
        await self.result(tree.close())
        await failed
        await self.failed(SessionExpired, tree.multi([Create("/t/a")]))
        self.assertLessEqual(tree.lease_remaining_s(), 0)

    async def test_connect_again(self) -> None:
        """Check that a tree that was closed can start another session."""
        tree = self.make_tree()
        first = await self.result(tree.connect())
        await self.result(tree.close())
        second = await self.result(tree.connect())
        self.addCleanup(self._close, tree)
        self.assertNotEqual(first, second)
        self.assertTrue(await self.is_there(tree, "/"))

    async def test_lease(self) -> None:
        """Check that a write begins the lease, and that reads, checks and failed writes do not."""
        tree = self.make_tree()
        await self.result(tree.connect())
        self.addCleanup(self._close, tree)
        await self.result(tree.read("/"))
        await self.multi(tree, Check("/"))
        await self.refused(NoNode, tree, Create("/missing/a"))
        self.assertLessEqual(tree.lease_remaining_s(), 0)
        await self.multi(tree, SetData("/", b""))
        self.assertGreater(tree.lease_remaining_s(), 0)
        await self.result(tree.close())
        self.assertLessEqual(tree.lease_remaining_s(), 0)

    async def test_connection_cut(self) -> None:
        """Check that a short cut keeps the session and its nodes, and ends watches first."""
        tree = await self.connected()
        session_id = tree.session_id
        await self.multi(tree, Create("/t/a", ephemeral=True))
        heard: DeferredQueue[object] = DeferredQueue()
        tree.subscribe(heard.put)
        await self.result(tree.exists("/t/a", heard.put))
        await self.result(tree.exists("/t/b", heard.put))
        await self.result(tree.children("/t", heard.put))
        await self.cut(tree)
        await self.expect(heard, Change.LOST, Change.LOST, Change.LOST, SessionState.SUSPENDED)
        await self.failed(ConnectionLost, tree.read("/t/a"))
        await self.heal(tree)
        await self.expect(heard, SessionState.CONNECTED)
        self.assertEqual(tree.session_id, session_id)
        self.assertTrue(await self.is_there(tree, "/t/a"))
        await self.multi(tree, Create("/t/b"))
        self.assertEqual(heard.pending, [])

    async def test_write_in_doubt_that_was_made(self) -> None:
        """Check that a write whose reply is lost fails with ConnectionLost, and can be read back."""
        tree, other = await self.connected(), await self.connected()
        seen: DeferredQueue[Change] = DeferredQueue()
        await self.result(other.exists("/t/a", seen.put))
        states = self.states(tree)
        await self.hold(tree, applied=True)
        write = tree.multi([Create("/t/a")])
        await self.expect(seen, Change.CREATED)
        await self.cut(tree)
        await self.failed(ConnectionLost, write)
        await self.heal(tree)
        await self.expect(states, SessionState.SUSPENDED, SessionState.CONNECTED)
        self.assertTrue(await self.is_there(tree, "/t/a"))

    async def test_write_in_doubt_that_was_not_made(self) -> None:
        """Check that a write that is lost on its way fails with ConnectionLost, and is not made later."""
        tree = await self.connected()
        states = self.states(tree)
        await self.hold(tree, applied=False)
        write = tree.multi([Create("/t/a")])
        read = tree.read("/t")
        await self.cut(tree)
        await self.failed(ConnectionLost, write)
        await self.failed(ConnectionLost, read)
        await self.heal(tree)
        await self.expect(states, SessionState.SUSPENDED, SessionState.CONNECTED)
        self.assertFalse(await self.is_there(tree, "/t/a"))

    async def test_session_expires(self) -> None:
        """Check that expiry takes nodes, watches, lease and requests, and that another session can begin."""
        tree, other = await self.connected(), await self.connected()
        old = tree.session_id
        await self.multi(tree, Create("/t/a", ephemeral=True))
        heard: DeferredQueue[object] = DeferredQueue()
        await self.result(tree.exists("/t/b", heard.put))
        tree.subscribe(heard.put)
        gone: DeferredQueue[Change] = DeferredQueue()
        await self.result(other.sync())
        await self.result(other.exists("/t/a", gone.put))
        await self.expire(tree)
        await self.expect(gone, Change.DELETED)
        await self.expect(heard, Change.LOST, SessionState.SUSPENDED, SessionState.LOST)
        self.assertEqual((tree.state, tree.session_id), (SessionState.LOST, None))
        self.assertLessEqual(tree.lease_remaining_s(), 0)
        await self.failed(SessionExpired, tree.multi([Create("/t/b")]))
        new = await self.result(tree.connect())
        self.assertNotEqual(new, old)
        await self.expect(heard, SessionState.CONNECTED)
        await self.multi(tree, Create("/t/b"))
        self.assertEqual(await self.result(tree.children("/t")), ["b"])
        self.assertEqual(heard.pending, [])

    async def test_broken_callbacks(self) -> None:
        """Check that a watch or a listener that raises is logged, and the others are called."""
        tree = await self.connected()

        def broken(event: object) -> None:
            raise ArithmeticError(event)

        changes: list[Change] = []
        await self.result(tree.exists("/t/a", broken))
        await self.result(tree.exists("/t/a", changes.append))
        await self.multi(tree, Create("/t/a"))
        self.assertEqual(changes, [Change.CREATED])
        self.assertEqual(len(self.flushLoggedErrors(ArithmeticError)), 1)
