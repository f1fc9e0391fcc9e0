"""Tests of what all trees have in common, with a session whose replies the test gives."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import (
    Change,
    Check,
    ConnectionLost,
    NodeStat,
    NoNode,
    Operation,
    Outcome,
    SessionExpired,
    SessionState,
    SetData,
)
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.tree.client import SessionEvents, TreeClient

STAT = NodeStat(0, 1, 1)


class FakeSession:
    """A session that keeps its requests."""

    def __init__(self, events: SessionEvents) -> None:
        self.events = events
        self.reads: list[Deferred[tuple[bytes, NodeStat]]] = []
        self.multis: list[Deferred[tuple[Outcome, ...]]] = []
        self.watches: list[Watch | None] = []
        self.closed = 0

    def read(self, path: str, watch: Watch | None) -> Deferred[tuple[bytes, NodeStat]]:
        """Keep a read."""
        self.reads.append(Deferred())
        self.watches.append(watch)
        return self.reads[-1]

    def children(self, path: str, watch: Watch | None) -> Deferred[Sequence[str]]:
        """Return two names, not sorted."""
        return succeed(["b", "a"])

    def exists(self, path: str, watch: Watch | None) -> Deferred[NodeStat | None]:
        """Return nothing."""
        return succeed(None)

    def multi(self, operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
        """Keep a multi."""
        self.multis.append(Deferred())
        return self.multis[-1]

    def sync(self, path: str) -> Deferred[None]:
        """Return at once."""
        return succeed(None)

    def close(self) -> Deferred[None]:
        """Count."""
        self.closed += 1
        return succeed(None)


class TreeClientTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a session of 10 s."""
        self.clock = Clock()
        self.sessions: list[FakeSession] = []
        self.tree = TreeClient(self.open, self.clock.seconds)
        self.heard: list[object] = []
        self.tree.subscribe(self.heard.append)
        connecting = self.tree.connect()
        self.session = self.sessions[0]
        self.session.events.connected(7, 10.0)
        self.assertEqual(self.successResultOf(connecting), 7)

    def open(self, events: SessionEvents) -> FakeSession:
        """Start a fake session."""
        self.sessions.append(FakeSession(events))
        return self.sessions[-1]

    def test_children_are_sorted(self) -> None:
        """Children come sorted, whatever the session gives."""
        self.assertEqual(self.successResultOf(self.tree.children("/")), ["a", "b"])

    def test_lease(self) -> None:
        """The lease counts from the call of the last write that succeeded; one that failed counts nothing."""
        self.clock.advance(100)
        write = self.tree.multi([SetData("/", b"")])
        self.clock.advance(3)
        failing = self.tree.multi([SetData("/", b"")])
        check = self.tree.multi([Check("/")])
        self.session.multis[0].callback((STAT,))
        self.session.multis[1].errback(NoNode("/"))
        self.session.multis[2].callback((None,))
        for each in (write, check):
            self.successResultOf(each)
        self.failureResultOf(failing, NoNode)
        self.assertEqual(self.tree.lease_remaining_s(), 5.0)

    def test_lease_outlives_a_lost_connection(self) -> None:
        """The lease goes on while SUSPENDED, since the server's time-out does; it ends with the session."""
        self.tree.multi([SetData("/", b"")])
        self.session.multis[0].callback((STAT,))
        self.session.events.suspended()
        self.assertEqual(self.tree.lease_remaining_s(), 8.0)
        self.session.events.connected(7, 10.0)
        self.assertEqual(self.tree.lease_remaining_s(), 8.0)
        self.session.events.lost(SessionExpired())
        self.assertEqual(self.tree.lease_remaining_s(), 0.0)

    def test_old_lease(self) -> None:
        """A write of an old session that is told late renews nothing in the next one."""
        write = self.tree.multi([SetData("/", b"")])
        self.session.events.lost(SessionExpired("7"))
        self.failureResultOf(write, SessionExpired)
        self.tree.connect()
        self.sessions[1].events.connected(8, 10.0)
        self.session.multis[0].callback((STAT,))
        self.assertEqual(self.tree.lease_remaining_s(), 0.0)

    def test_suspended(self) -> None:
        """Operations fail first, then watches end, then listeners hear; later replies are dropped."""
        watched = self.tree.read("/a", self.heard.append)
        self.session.reads[0].callback((b"", STAT))
        self.successResultOf(watched)
        pending = self.tree.read("/b", self.heard.append)
        pending.addErrback(lambda failure: self.heard.append(failure.type))
        self.heard.clear()
        self.session.events.suspended()
        self.assertEqual(self.heard, [ConnectionLost, Change.LOST, SessionState.SUSPENDED])
        self.session.reads[1].callback((b"", STAT))
        for watch in self.session.watches:
            assert watch is not None
            watch(Change.DATA)
        self.assertEqual(len(self.heard), 3)
        self.failureResultOf(self.tree.read("/"), ConnectionLost)

    def test_old_session(self) -> None:
        """Events of a session that was closed or lost are dropped."""
        self.successResultOf(self.tree.close())
        self.heard.clear()
        self.session.events.suspended()
        self.session.events.lost(SessionExpired())
        self.session.events.connected(7, 10.0)
        self.assertEqual((self.heard, self.tree.state), ([], SessionState.CLOSED))

    def test_lost_closes_the_session(self) -> None:
        """A session that expired is closed, so that it starts no other by itself."""
        self.session.events.lost(SessionExpired())
        self.assertEqual((self.session.closed, self.heard[-1]), (1, SessionState.LOST))

    def test_connect_from_an_errback(self) -> None:
        """A session may be started by the errback of an operation that the expiry failed."""
        again: list[Deferred[int]] = []
        self.tree.read("/").addErrback(lambda _: again.append(self.tree.connect()))
        self.session.events.lost(SessionExpired())
        self.assertEqual(self.heard[-1], SessionState.LOST)
        self.sessions[1].events.connected(8, 10.0)
        self.assertEqual(self.successResultOf(again[0]), 8)
        self.assertEqual((self.tree.state, self.tree.session_id), (SessionState.CONNECTED, 8))

    def test_close_from_an_errback(self) -> None:
        """A tree that is closed while its operations fail tells its listeners nothing more."""
        self.tree.read("/").addErrback(lambda _: self.tree.close())
        self.heard.clear()
        self.session.events.suspended()
        self.assertEqual((self.heard, self.tree.state), ([], SessionState.CLOSED))

    def test_no_server(self) -> None:
        """A session that cannot be started fails connect, is told to no listener, and can be tried again."""
        self.successResultOf(self.tree.close())
        self.heard.clear()
        connecting = self.tree.connect()
        self.failureResultOf(self.tree.read("/"), ConnectionLost)
        self.sessions[1].events.lost(ConnectionLost())
        self.failureResultOf(connecting, ConnectionLost)
        self.assertEqual((self.heard, self.tree.state), ([], SessionState.CLOSED))
        self.tree.connect()

    def test_closed_while_connecting(self) -> None:
        """Closing a tree that is connecting fails connect and ends the attempt."""
        self.successResultOf(self.tree.close())
        connecting = self.tree.connect()
        self.successResultOf(self.tree.close())
        self.failureResultOf(connecting, SessionExpired)
        self.assertEqual(self.sessions[1].closed, 1)

    def test_cancelled(self) -> None:
        """The reply to a request that was cancelled is dropped."""
        read = self.tree.read("/")
        read.cancel()
        self.failureResultOf(read, CancelledError)
        self.session.reads[0].callback((b"", STAT))
        again = self.tree.read("/")
        again.cancel()
        self.session.events.suspended()
        self.failureResultOf(again, CancelledError)
