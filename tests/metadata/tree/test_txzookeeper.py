"""Tests of a tree under the names of txzookeeper."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import BadVersion, Change, ConnectionLost, SessionExpired, SessionState
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree
from kafkatx.metadata.tree.txzookeeper import EPHEMERAL, SEQUENCE, ZookeeperClient

T = TypeVar("T")


class ZookeeperClientTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Connect a client to a tree in memory."""
        self.clock = Clock()
        self.tree = MemoryTree(MemoryServer(self.clock))
        self.client = ZookeeperClient(self.tree)
        self.assertIs(self.result(self.client.connect()), self.client)

    def result(self, deferred: Deferred[T]) -> T:
        """Return a result after some steps of the clock."""
        self.clock.pump([0] * 4)
        return self.successResultOf(deferred)

    def test_nodes(self) -> None:
        """A node is created, read, set, found and deleted."""
        self.assertEqual(self.result(self.client.create("/a", b"1")), "/a")
        self.assertEqual(self.result(self.client.set("/a", b"2", 0)).version, 1)
        data, stat = self.result(self.client.get("/a"))
        self.assertEqual((data, stat.version), (b"2", 1))
        self.result(self.client.sync())
        self.assertEqual(self.result(self.client.get_children("/")), ["a"])
        failing = self.client.delete("/a", 0)
        self.clock.pump([0] * 4)
        self.failureResultOf(failing, BadVersion)
        self.result(self.client.delete("/a"))
        self.assertEqual(self.result(self.client.exists("/a")), None)

    def test_flags(self) -> None:
        """Flags make a node ephemeral and sequential."""
        path = self.result(self.client.create("/a-", flags=EPHEMERAL | SEQUENCE))
        self.assertEqual(path, "/a-0000000000")
        self.assertEqual(self.result(self.client.get(path))[1].ephemeral_owner, self.tree.session_id)

    def test_watches(self) -> None:
        """Each watch is a Deferred that fires with the first change."""
        found, appeared = self.client.exists_and_watch("/a")
        names, children = self.client.get_children_and_watch("/")
        self.assertEqual(self.result(found), None)
        self.assertEqual(self.result(names), [])
        self.result(self.client.create("/a"))
        self.assertEqual(self.result(appeared), Change.CREATED)
        self.assertEqual(self.result(children), Change.CHILDREN)
        _, changed = self.client.get_and_watch("/a")
        self.result(self.client.set("/a", b"1"))
        self.result(self.client.set("/a", b"2"))
        self.assertEqual(self.result(changed), Change.DATA)

    def test_lost_watches(self) -> None:
        """A watch fails with what ended it: the connection or the session."""
        states: list[SessionState] = []
        self.client.set_session_callback(states.append)
        found, cut = self.client.exists_and_watch("/a")
        self.result(found)
        self.tree.link.cut()
        self.clock.pump([0] * 4)
        self.failureResultOf(cut, ConnectionLost)
        self.tree.link.heal()
        self.clock.pump([0] * 4)
        self.assertEqual(states, [SessionState.SUSPENDED, SessionState.CONNECTED])
        found, expired = self.client.exists_and_watch("/a")
        self.result(found)
        assert self.tree._events is not None
        self.tree._events.lost(SessionExpired())
        self.failureResultOf(expired, SessionExpired)

    def test_close(self) -> None:
        """Closing ends the session."""
        self.result(self.client.close())
        self.failureResultOf(self.client.get("/"), SessionExpired)
