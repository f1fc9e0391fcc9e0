"""The server without sockets: time-outs, resumption, what outlives it, and a disk that fails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from unittest import mock

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import Change, Create, Operation, SetData
from kafkatx.metadata.tree.local import server as module
from kafkatx.metadata.tree.local.replies import (
    Answered,
    Event,
    Expired,
    Failed,
    Pong,
    Reply,
    Welcome,
    decode,
    read_data,
    read_stat,
)
from kafkatx.metadata.tree.local.requests import Hello, Kind, Request
from kafkatx.metadata.tree.local.server import Session, TreeServer

TIMEOUT_S = 6.0


class FakePeer:
    """A connection that keeps what it is told."""

    def __init__(self) -> None:
        self.watches = 0
        self.waiting = 0
        self.replies: list[Reply] = []
        self.ended = ""

    def send(self, body: bytes) -> None:
        """Keep a message."""
        self.replies.append(decode(body))

    def finish(self) -> None:
        """Note the end."""
        self.ended = "finished"

    def abort(self) -> None:
        """Note the end."""
        self.ended = "aborted"


class Client:
    """A client of the server, with a session."""

    def __init__(self, server: TreeServer, hello: Hello | None = None) -> None:
        self.server = server
        self.peer = FakePeer()
        session = server.hello(self.peer, hello or Hello(None, "", TIMEOUT_S))
        self.found = session
        self.numbers = 0

    @property
    def session(self) -> Session:
        """The session."""
        assert self.found is not None
        return self.found

    @property
    def hello(self) -> Hello:
        """The first message of a next connection."""
        return Hello(self.session.session_id, self.session.stored.token, TIMEOUT_S)

    def ask(
        self, kind: Kind, path: str = "/", watch: bool = False, operations: Sequence[Operation] = ()
    ) -> object:
        """Return the result of a request, or its Failed."""
        self.numbers += 1
        self.server.request(self.session, Request(self.numbers, kind, path, watch, operations))
        reply = self.peer.replies[-1]
        return reply.result if isinstance(reply, Answered) else reply

    def there(self, path: str) -> bool:
        """Return True if there is a node."""
        return self.ask(Kind.EXISTS, path) is not None

    def make(self, *operations: Operation) -> object:
        """Make a multi."""
        return self.ask(Kind.MULTI, operations=operations)


class TreeServerTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a server."""
        self.clock = Clock()
        self.path = os.path.join(os.path.abspath(self.mktemp()), "tree.sqlite3")
        self.server = self.started()
        self.addCleanup(lambda: self.server.stop())

    def started(self) -> TreeServer:
        """Return a server over the test's file."""
        server = TreeServer(self.path, self.clock, execute)
        self.successResultOf(server.start())
        return server

    def restart(self) -> None:
        """Stop the server, and start another."""
        self.successResultOf(self.server.stop())
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.server = self.started()

    def test_expiry(self) -> None:
        """A session that is silent for its time-out ends with its nodes; the client is told."""
        client, other = Client(self.server), Client(self.server)
        client.make(Create("/e", ephemeral=True))
        other.ask(Kind.EXISTS, "/e", watch=True)
        self.clock.advance(TIMEOUT_S - 0.1)
        self.server.ping(other.session)
        self.assertTrue(other.there("/e"))
        self.clock.advance(0.2)
        self.clock.advance(0.06)
        self.assertIsInstance(client.peer.replies[-1], Expired)
        self.assertEqual(client.peer.ended, "finished")
        self.assertIn(Event(1, Change.DELETED), other.peer.replies)
        self.assertFalse(other.there("/e"))
        self.assertEqual(other.peer.ended, "")

    def test_any_message_is_a_sign_of_life(self) -> None:
        """A session lives on as long as anything comes of its client."""
        client = Client(self.server)
        for number in range(10):
            self.clock.advance(TIMEOUT_S - 0.1)
            if number % 2:
                client.there("/")
            else:
                self.server.ping(client.session)
                self.assertIsInstance(client.peer.replies[-1], Pong)
        self.assertEqual(client.peer.ended, "")

    def test_server_stood_still(self) -> None:
        """A server that is late itself gives its clients time to be heard before it ends a session."""
        client, gone = Client(self.server), Client(self.server)
        self.server.disconnected(client.session, client.peer)  # it has given up, and pauses between attempts
        self.clock.rightNow += 60
        self.clock.advance(0)
        self.clock.advance(module.GRACE_S - 0.1)
        self.assertEqual(gone.peer.ended, "")
        again = Client(self.server, client.hello)
        self.assertIs(again.found, client.found)
        self.clock.advance(TIMEOUT_S - 0.1)
        self.assertEqual((again.peer.ended, gone.peer.ended), ("", "finished"))
        self.clock.advance(0.2)
        self.clock.advance(0.06)
        self.assertEqual(again.peer.ended, "finished")

    def test_resumed(self) -> None:
        """A new connection takes the session over; the old one and its watches end."""
        client, other = Client(self.server), Client(self.server)
        client.make(Create("/e", ephemeral=True))
        client.ask(Kind.EXISTS, "/a", watch=True)
        again = Client(self.server, client.hello)
        self.assertIs(again.found, client.found)
        self.assertEqual(client.peer.ended, "aborted")
        other.make(Create("/a"))
        self.assertFalse([reply for reply in client.peer.replies if isinstance(reply, Event)])
        self.server.disconnected(client.session, client.peer)  # is heard of later
        self.assertTrue(again.there("/e"))
        self.clock.advance(TIMEOUT_S - 0.1)
        self.assertTrue(again.there("/e"))

    def test_not_resumed(self) -> None:
        """Neither an unknown session nor another token is let in."""
        client = Client(self.server)
        for hello in (Hello(99, client.session.stored.token, 1), Hello(1, "ä", 1), Hello(1, "", 1)):
            other = Client(self.server, hello)
            self.assertIsNone(other.found)
            self.assertEqual((other.peer.replies, other.peer.ended), ([Expired()], "finished"))
        self.assertEqual(client.peer.ended, "")

    def test_disconnected(self) -> None:
        """A session without a connection lives until its time-out."""
        client, other = Client(self.server), Client(self.server)
        client.make(Create("/e", ephemeral=True))
        self.server.disconnected(client.session, client.peer)
        self.clock.advance(TIMEOUT_S - 0.1)
        self.assertTrue(other.there("/e"))
        self.clock.advance(0.2)
        self.clock.advance(0.06)
        self.assertFalse(other.there("/e"))

    def test_closed(self) -> None:
        """A closed session ends at once, and its client can ask nothing more."""
        client, other = Client(self.server), Client(self.server)
        client.make(Create("/e", ephemeral=True))
        self.assertIsNone(client.ask(Kind.CLOSE))
        self.assertEqual(client.peer.ended, "finished")
        self.assertFalse(other.there("/e"))
        self.server.request(client.session, Request(9, Kind.MULTI, operations=[Create("/late")]))
        self.assertFalse(other.there("/late"))
        for _ in range(2):  # also not from the disk
            self.assertIsNone(Client(self.server, client.hello).found)
            self.restart()

    def test_restart(self) -> None:
        """Nodes, stats, counters and sessions outlive the server; time-outs begin anew."""
        client = Client(self.server)
        client.make(Create("/a", b"1"), Create("/e", ephemeral=True), Create("/a/s", sequential=True))
        client.make(SetData("/a", b"2"))
        before = client.ask(Kind.READ, "/a")
        self.restart()
        self.clock.advance(TIMEOUT_S - 0.1)
        again = Client(self.server, client.hello)
        self.assertEqual(again.ask(Kind.READ, "/a"), before)
        self.assertEqual(again.ask(Kind.CHILDREN, "/a"), ["s0000000000"])
        self.assertTrue(again.there("/e"))
        self.assertEqual(again.make(Create("/a/s", sequential=True)), ["/a/s0000000001"])
        stat = read_stat(again.ask(Kind.EXISTS, "/a/s0000000001"))
        assert stat is not None
        self.assertGreater(stat.czxid, read_data(before)[1].mzxid)
        self.assertGreater(Client(self.server).session.session_id, client.session.session_id)

    def test_expiry_after_restart(self) -> None:
        """A session whose client does not come back expires; also its nodes are gone."""
        client = Client(self.server)
        client.make(Create("/e", ephemeral=True))
        self.restart()
        other = Client(self.server)
        self.assertTrue(other.there("/e"))
        self.clock.advance(TIMEOUT_S - 0.1)
        self.server.ping(other.session)
        self.clock.advance(0.2)
        self.clock.advance(0.06)
        self.assertFalse(other.there("/e"))
        self.restart()
        self.assertFalse(Client(self.server).there("/e"))

    def test_disk_fails(self) -> None:
        """A change that cannot be written was never made: all clients are cut off, and can come back."""
        client, other = Client(self.server), Client(self.server)
        client.make(Create("/a"), Create("/e", ephemeral=True))
        told = len(client.peer.replies)
        assert self.server._database is not None
        with mock.patch.object(self.server._database, "write", side_effect=OSError("disk is full")):
            client.ask(Kind.MULTI, operations=[Create("/b")])
        self.assertEqual((client.peer.ended, other.peer.ended), ("aborted", "aborted"))
        self.assertEqual(len(client.peer.replies), told)
        again = Client(self.server, client.hello)
        self.assertIsInstance(again.peer.replies[-1], Welcome)
        self.assertEqual((again.there("/a"), again.there("/b"), again.there("/e")), (True, False, True))
        self.assertEqual(again.make(Create("/b")), ["/b"])
        self.assertNoResult(self.server.broken)

    def test_disk_is_gone(self) -> None:
        """A disk that cannot be read either is told, and no client is served."""
        client = Client(self.server)
        assert self.server._database is not None
        with (
            mock.patch.object(self.server._database, "write", side_effect=OSError("gone")),
            mock.patch.object(self.server._database, "load", side_effect=OSError("gone, too")),
        ):
            client.ask(Kind.MULTI, operations=[Create("/b")])
        self.assertEqual(str(self.failureResultOf(self.server.broken).value), "gone, too")
        self.assertEqual(Client(self.server).peer.ended, "aborted")

    def test_watches_are_bounded(self) -> None:
        """A connection can have so many watches; one that fires makes room."""
        self.patch(module, "MAX_WATCHES", 3)
        client = Client(self.server)
        for _ in range(3):
            self.assertIsNone(client.ask(Kind.EXISTS, "/a", watch=True))
        self.assertIsInstance(client.ask(Kind.EXISTS, "/a", watch=True), Failed)
        client.make(Create("/a"))
        self.assertEqual(client.peer.watches, 0)
        self.assertNotIsInstance(client.ask(Kind.READ, "/a", watch=True), Failed)

    def test_long_reply(self) -> None:
        """A reply that is too long is refused, and the connection goes on."""
        self.patch(module, "MAX_REPLY_BYTES", 100)
        client = Client(self.server)
        client.make(Create("/a", b"x" * 200))
        refused = client.ask(Kind.READ, "/a")
        assert isinstance(refused, Failed)
        self.assertEqual(refused.error, "Refused")
        self.assertTrue(client.there("/a"))

    def test_timeouts_are_bounded(self) -> None:
        """A client cannot ask for a session that never ends, or for one that ends at once."""
        for asked_s, given_s in ((0.0, 0.1), (1e9, 3600.0), (5.0, 5.0)):
            client = Client(self.server, Hello(None, "", asked_s))
            self.assertEqual(client.session.stored.timeout_s, given_s)

    def test_second_server(self) -> None:
        """A second server of the file is refused."""
        second = TreeServer(self.path, self.clock, execute)
        failure = self.failureResultOf(second.start(), SettingError)
        self.assertIn("in use by another broker", str(failure.value))
