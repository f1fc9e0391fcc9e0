"""The interface between connections and the dispatch."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.dispatch import Dispatch
from kafkatx.net.requests import Peer, Requests, Staged
from tests.broker.running import BrokerTestCase
from tests.net.fakes import ScriptedRequests


class PeerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two peers with the same address."""
        self.one, self.two = (Peer("192.0.2.1", 5000, "192.0.2.9", 9092) for _ in range(2))

    def test_in_log_lines(self) -> None:
        """A log line shows a peer's address and port."""
        self.assertEqual(str(self.one), "192.0.2.1:5000")

    def test_identity(self) -> None:
        """Two connections from one address are two peers, which share nothing."""
        self.assertNotEqual(self.one, self.two)
        self.one.when_sent.append(lambda: None)
        self.assertEqual(self.two.when_sent, [])

    def test_without_connection(self) -> None:
        """A peer without a connection has read nothing, and can be aborted."""
        self.assertEqual(self.one.rounds(), 0)
        self.one.abort("no reason")


class StagedTests(SynchronousTestCase):
    def test_not_finished(self) -> None:
        """A staged answer shares its round with others by default."""
        self.assertFalse(Staged.alone)
        self.assertRaises(NotImplementedError, Staged().finish, {})


class RequestsTests(BrokerTestCase):
    def test_dispatch(self) -> None:
        """The dispatch and the scripted dispatch both provide the interface that connections use."""
        for requests in (self.dispatch, ScriptedRequests()):
            checked: Requests = requests
            self.assertEqual(checked.write_staged(), {})
            checked.wake_waiting()
        self.assertEqual(Dispatch.ordered[0], b"\0\0")
