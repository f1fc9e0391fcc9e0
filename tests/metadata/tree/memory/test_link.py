"""Tests of the faults between a tree in memory and its server."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import Change, ConnectionLost, Create, SessionExpired, SessionState, SetData
from kafkatx.metadata.tree.memory import MemoryServer, MemoryTree


class LinkTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Connect a tree with a session of 10 s."""
        self.clock = Clock()
        self.server = MemoryServer(self.clock)
        self.tree = MemoryTree(self.server, timeout_s=10.0)
        self.heard: list[object] = []
        self.tree.subscribe(self.heard.append)
        self.tree.connect()
        self.clock.pump([0] * 3)
        self.heard.clear()

    def nodes(self) -> list[str]:
        """Return the children of the root, read by another tree."""
        other = MemoryTree(self.server)
        other.connect()
        self.clock.pump([0] * 3)
        children = other.children("/")
        self.clock.pump([0] * 3)
        found = self.successResultOf(children)
        return list(found)

    def test_cut_with_requests_under_way(self) -> None:
        """Requests under way when the link is cut are made or dropped, as told; the tree knows neither."""
        for name, applied in (("/a", True), ("/b", False)):
            write = self.tree.multi([Create(name)])
            self.tree.link.cut(apply_requests=applied)
            self.clock.advance(0)
            self.failureResultOf(write, ConnectionLost)
            self.tree.link.heal()
            self.clock.advance(0)
        self.assertEqual(self.nodes(), ["a"])

    def test_cut_for_longer_than_the_session(self) -> None:
        """The session expires while the link is cut; the tree hears of it when the link is healed."""
        self.tree.multi([Create("/a", ephemeral=True)])
        self.clock.pump([0] * 3)
        self.assertEqual(self.nodes(), ["a"])
        self.tree.link.cut()
        self.clock.pump([5, 5])
        self.assertEqual(self.nodes(), [])
        self.assertEqual(self.heard, [SessionState.SUSPENDED])
        self.tree.link.heal()
        self.clock.pump([0] * 3)
        self.assertEqual(self.heard, [SessionState.SUSPENDED, SessionState.LOST])

    def test_frozen(self) -> None:
        """A tree whose requests are held loses its session, unheard; the release tells it."""
        self.tree.link.hold_requests()
        write = self.tree.multi([Create("/a")])
        self.clock.pump([9, 1, 5])
        self.assertEqual((self.heard, self.tree.state), ([], SessionState.CONNECTED))
        self.tree.link.release()
        self.clock.pump([0] * 3)
        self.assertEqual(self.heard, [SessionState.SUSPENDED, SessionState.LOST])
        self.failureResultOf(write, ConnectionLost)
        self.assertEqual(self.nodes(), [])

    def test_held_for_a_moment(self) -> None:
        """Requests and replies that were held for less than the session are delivered as if nothing was."""
        self.tree.link.hold_requests()
        self.tree.link.hold_replies()
        write = self.tree.multi([Create("/a")])
        self.clock.advance(9)
        self.assertNoResult(write)
        self.tree.link.release()
        self.clock.pump([0, 0, 9])
        self.assertEqual(self.successResultOf(write), ("/a",))
        self.assertEqual(self.heard, [])

    def test_cut_takes_watch_events(self) -> None:
        """A change whose event is under way when the link is cut is reported as a lost watch only."""
        reading = self.tree.read("/", self.heard.append)
        self.clock.pump([0] * 3)
        self.successResultOf(reading)
        self.tree.link.replies.delay_s = 1.0
        self.server.multi(self.server.open_session(10.0, lambda: None), [SetData("/", b"1")])
        self.tree.link.cut()
        self.tree.link.heal()
        self.clock.pump([1.0] * 3)
        self.assertEqual(self.heard, [Change.LOST, SessionState.SUSPENDED, SessionState.CONNECTED])

    def test_no_server(self) -> None:
        """A tree whose link is cut cannot start a session."""
        other = MemoryTree(self.server)
        other.link.cut()
        connecting = other.connect()
        self.clock.advance(0)
        self.failureResultOf(connecting, ConnectionLost)

    def test_closed_while_cut(self) -> None:
        """A tree that is closed while its link is cut leaves its session to the time-out."""
        self.tree.multi([Create("/a", ephemeral=True)])
        self.clock.pump([0] * 3)
        self.tree.link.cut()
        self.successResultOf(self.tree.close())
        self.clock.advance(9)
        self.assertEqual(self.nodes(), ["a"])
        self.clock.advance(1)
        self.assertEqual(self.nodes(), [])
        self.failureResultOf(self.tree.read("/"), SessionExpired)

    def test_killed(self) -> None:
        """A tree whose process has ended hears of nothing; its session expires after the time-out."""
        self.tree.multi([Create("/a", ephemeral=True)])
        self.clock.pump([0] * 3)
        reading = self.tree.read("/a", self.heard.append)
        self.tree.link.kill()
        self.clock.pump([0] * 3)
        self.assertEqual(self.nodes(), ["a"])
        self.clock.pump([5, 5])
        self.assertEqual(self.nodes(), [])
        self.assertNoResult(reading)
        self.assertEqual(self.heard, [])

    def test_killed_while_connecting(self) -> None:
        """A tree whose process ends while it connects leaves no session, or one that expires."""
        for opened in (False, True):
            other = MemoryTree(self.server)
            other.link.requests.delay_s = 1.0
            connecting = other.connect()
            self.clock.advance(0)
            other.link.kill(apply_requests=opened)
            self.assertEqual(self.server.has_session(2), opened)
            self.clock.pump([9] * 3)
            self.assertNoResult(connecting)
            self.assertFalse(self.server.has_session(2))

    def test_connecting_is_held(self) -> None:
        """A tree whose requests are held gets its session when they are released."""
        other = MemoryTree(self.server)
        other.link.hold_requests()
        connecting = other.connect()
        self.clock.pump([1] * 3)
        self.assertNoResult(connecting)
        other.link.release()
        self.clock.pump([0] * 3)
        self.assertEqual(self.successResultOf(connecting), other.session_id)

    def test_cut_while_connecting(self) -> None:
        """A tree whose link is cut while it connects is told that no server was reached."""
        other = MemoryTree(self.server)
        other.link.requests.delay_s = 1.0
        connecting = other.connect()
        self.clock.advance(0)
        other.link.cut()
        self.clock.pump([0] * 2)
        self.failureResultOf(connecting, ConnectionLost)
        self.assertIs(other.state, SessionState.CLOSED)
