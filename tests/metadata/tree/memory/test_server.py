"""Tests of the sessions of the server in memory."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Change, Create, SessionExpired, SetData
from kafkatx.metadata.tree.memory.server import MemoryServer


class ServerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Open two sessions."""
        self.clock = Clock()
        self.server = MemoryServer(self.clock)
        self.ended: list[str] = []
        self.first = self.server.open_session(10.0, lambda: self.ended.append("first"))
        self.second = self.server.open_session(10.0, lambda: self.ended.append("second"))

    def test_silence(self) -> None:
        """A session expires when it was silent for its time-out without a break, and is told once."""
        self.server.multi(self.first, [Create("/a", ephemeral=True)])
        self.server.miss(self.first)
        self.clock.advance(9)
        self.server.hear(self.first)
        self.clock.advance(9)
        self.server.miss(self.first)
        self.server.miss(self.first)
        self.clock.advance(9.9)
        self.assertTrue(self.server.has_session(self.first))
        changes: list[Change] = []
        self.server.exists(self.second, "/a", changes.append)
        self.clock.advance(0.1)
        self.server.expire(self.first)
        self.assertFalse(self.server.has_session(self.first))
        self.assertEqual((self.ended, changes), (["first"], [Change.DELETED]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_expired(self) -> None:
        """An expired session can do nothing, and its watches are gone."""
        changes: list[Change] = []
        self.server.read(self.first, "/", changes.append)
        self.server.expire(self.first)
        self.server.multi(self.second, [SetData("/", b"1")])
        self.assertEqual(changes, [])
        for call in (self.server.read, self.server.children, self.server.exists):
            self.assertRaises(SessionExpired, call, self.first, "/", None)
        self.assertRaises(SessionExpired, self.server.sync, self.first)
        self.assertRaises(SessionExpired, self.server.multi, self.first, [Create("/a")])

    def test_close(self) -> None:
        """A closed session is not told of its end, and deletes its nodes in one transaction."""
        self.server.multi(self.first, [Create("/a", ephemeral=True), Create("/b", ephemeral=True)])
        zxid = self.server.zxid
        self.server.close_session(self.first)
        self.server.close_session(self.first)
        self.assertEqual((self.ended, self.server.zxid), ([], zxid + 1))
        self.assertEqual(self.server.children(self.second, "/", None), [])
