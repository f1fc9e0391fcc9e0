"""Requests that are served in parts: no other request of their connection is served meanwhile."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.net.requests import Answer, ExclusiveReply, Peer, Reply
from tests.net.fakes import ConnectionTestCase, ScriptedRequests, framed, produce


class InParts(ScriptedRequests):
    """A dispatch that serves the produce requests in :attr:`alone` in parts."""

    def __init__(self) -> None:
        super().__init__()
        self.alone: dict[bytes, Deferred[Reply]] = {}

    def answer(self, frame: memoryview, peer: Peer) -> Answer:
        """Answer, and record the request."""
        name = bytes(frame[2:])
        if name not in self.alone:
            return super().answer(frame, peer)
        self.events.append(name)
        return ExclusiveReply(self.alone[name])


class AloneTests(ConnectionTestCase):
    def setUp(self) -> None:
        """Make a dispatch that serves the request "many" in parts."""
        super().setUp()
        self.in_parts = self.requests = InParts()
        self.many = self.in_parts.alone[b"many"] = Deferred[Reply]()
        self.factory = self.make_factory(max_queued_bytes=1000)

    def test_no_produce_overtakes(self) -> None:
        """Produce requests behind it start when it has ended; those before it are written at once."""
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a", b"many", b"b"))
        connection.dataReceived(produce(b"c"))
        self.settle()
        self.assertEqual(self.requests.events, [b"a", b"many", ("write", [b"a"]), "wake"])
        self.assertEqual(transport.replies(), [b"a"])
        self.many.callback(framed(b"many"))
        self.settle()
        self.assertEqual(transport.replies(), [b"a", b"many", b"b", b"c"])

    def test_behind_others_that_wait(self) -> None:
        """It may start behind produce requests that wait for the disk, and no request overtakes it."""
        flushing = self.requests.script[b"flushing"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(produce(b"flushing", b"many", b"b"))
        connection.dataReceived(produce(b"c"))
        self.settle()
        self.assertNotIn(b"b", self.requests.events)
        self.many.callback(framed(b"many"))
        self.settle()
        flushing.callback(framed(b"flushing"))
        self.settle()
        self.assertEqual(transport.replies(), [b"flushing", b"many", b"b", b"c"])

    def test_its_frame_is_held(self) -> None:
        """Its frame counts as held until it has ended or its connection is lost."""
        for ends in (True, False):
            name = b"x" * 2000
            self.in_parts.alone[name] = Deferred()
            connection, _ = self.connect()
            connection.dataReceived(produce(name))
            self.assertTrue(self.factory.pool.exhausted)
            if ends:
                self.in_parts.alone[name].callback(framed(b"done"))
            else:
                self.lose(connection)
            self.assertFalse(self.factory.pool.exhausted)
