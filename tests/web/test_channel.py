"""Connections: bytes in and bytes out, over a transport in memory, with a clock for the limits."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.calls import Answer, Call
from kafkatx.web.limits import WebLimits
from kafkatx.web.pieces import json_list
from kafkatx.web.server import WebServerFactory
from kafkatx.web.site import Site

LIMITS = WebLimits(
    max_body_bytes=100, max_held_bytes=150, max_connections=2, request_timeout_s=30, idle_timeout_s=60
)


class Transport(StringTransport):
    """A transport that notes an abort."""

    aborted = False

    def abortConnection(self) -> None:
        """Note it."""
        self.aborted = True


class ServerCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a site that answers with what it was asked, and one connection to it."""
        self.clock = Clock()
        self.calls: list[Call] = []
        self.answers: list[Deferred[Answer]] = []
        site = Site()
        site.mount(("echo",), lambda: self.echo)
        site.mount(("later",), lambda: self.later)
        site.mount(("list",), lambda: lambda call: Answer(200, json_list(range(1000), 100)))
        self.factory = WebServerFactory(site, LIMITS, self.clock)
        self.protocol, self.transport = self.connect()

    def echo(self, call: Call) -> Answer:
        """Answer with method, path and body."""
        self.calls.append(call)
        return Answer(200, f"{call.method} {'|'.join(call.path)} ".encode() + call.body)

    def later(self, call: Call) -> Deferred[Answer]:
        """Answer when the test says so."""
        answer: Deferred[Answer] = Deferred()
        self.answers.append(answer)
        return answer

    def connect(self) -> tuple[Protocol, Transport]:
        """Make a connection."""
        protocol = self.factory.buildProtocol(None)
        assert protocol is not None
        transport = Transport()
        protocol.makeConnection(transport)
        return protocol, transport

    def send(self, data: bytes) -> bytes:
        """Send bytes; return what the server has sent since."""
        self.transport.clear()
        self.protocol.dataReceived(data)
        sent: bytes = self.transport.value()
        return sent


class RequestTests(ServerCase):
    def test_get(self) -> None:
        """A request is answered with its length, and the connection stays."""
        sent = self.send(b"GET /echo/a%2Fb HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(sent.startswith(b"HTTP/1.1 200 OK\r\n"), sent)
        self.assertIn(b"Content-Length: 13\r\n", sent)
        self.assertTrue(sent.endswith(b"\r\n\r\nGET echo|a/b "))
        self.assertFalse(self.transport.disconnecting)
        self.assertIn(b"GET echo ", self.send(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    def test_head(self) -> None:
        """HEAD gets the headers of GET, and no body."""
        sent = self.send(b"HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(b"Content-Length: 9\r\n", sent)
        self.assertTrue(sent.endswith(b"\r\n\r\n"))

    def test_bodies(self) -> None:
        """A body comes with a length or in chunks, in whatever pieces."""
        for number, request in enumerate(
            (
                b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
                b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            )
        ):
            self.transport.clear()
            for one in request:
                self.protocol.dataReceived(bytes([one]))
            self.assertEqual(self.calls[number].body, b"hello")
            self.assertTrue(self.transport.value().endswith(b"POST echo hello"))

    def test_form(self) -> None:
        """The body of a form is left as it is."""
        head = b"POST /echo HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        self.send(head + b"Content-Length: 3\r\n\r\na=b")
        self.assertEqual(self.calls[0].body, b"a=b")

    def test_order(self) -> None:
        """The second of two requests in one piece is answered after the first."""
        one = b"GET /later HTTP/1.1\r\n\r\n"
        self.assertEqual(self.send(one + b"GET /echo HTTP/1.1\r\n\r\n"), b"")
        self.answers[0].callback(Answer(200, b"first"))
        sent = self.transport.value()
        self.assertLess(sent.index(b"first"), sent.index(b"GET echo"))

    def test_expect(self) -> None:
        """A client that waits for it is told to send the body."""
        head = b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        self.assertEqual(self.send(head), b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertIn(b"hello", self.send(b"hello"))

    def test_long_list(self) -> None:
        """A long answer is sent a piece at a time, and stops while the client is slow."""
        self.assertEqual(self.send(b"GET /list HTTP/1.1\r\n\r\n"), b"")
        self.clock.advance(0)
        first = len(self.transport.value())
        self.assertGreater(first, 0)
        producer = self.transport.producer
        assert producer is not None
        producer.pauseProducing()
        for _ in range(20):
            self.clock.advance(0)
        self.assertEqual(len(self.transport.value()), first)
        producer.resumeProducing()
        for _ in range(20):
            self.clock.advance(0)
        self.assertTrue(self.transport.value().endswith(b"0\r\n\r\n"))
        self.assertIn(b",999", self.transport.value())


class LimitTests(ServerCase):
    def test_large_body(self) -> None:
        """A body that is too large is refused by its length, before the client is asked for it."""
        head = b"POST /echo HTTP/1.1\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n"
        sent = self.send(head)
        self.assertTrue(sent.startswith(b"HTTP/1.1 413 "), sent)
        self.assertNotIn(b"100 Continue", sent)
        self.send(b"x" * 50)
        self.clock.advance(2)
        self.assertTrue(self.transport.aborted)
        self.assertEqual(self.calls, [])

    def test_large_chunks(self) -> None:
        """A body in chunks is refused when it has become too large, once."""
        sent = self.send(
            b"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"40\r\n" + b"x" * 64 + b"\r\n"
        )
        self.assertEqual(sent, b"")
        sent = self.send(b"40\r\n" + b"x" * 64 + b"\r\n40\r\n" + b"x" * 64 + b"\r\n")
        self.assertEqual(sent.count(b"HTTP/1.1 413 "), 1)
        self.send(b"0\r\n\r\n")
        self.assertTrue(self.transport.disconnecting)
        self.assertEqual(self.calls, [])

    def test_all_bodies(self) -> None:
        """The bodies of all connections share a budget, which is free again after the answer or the end."""
        head = b"POST /later HTTP/1.1\r\nContent-Length: 100\r\n\r\n"
        other, transport = self.connect()
        self.send(head + b"x" * 100)
        other.dataReceived(head + b"x" * 60)
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 503 "), transport.value())
        self.assertEqual(self.factory.bodies.held, 100)
        self.answers[0].callback(Answer(200))
        self.assertEqual(self.factory.bodies.held, 0)
        self.send(head + b"x" * 50)
        self.assertEqual(self.factory.bodies.held, 50)
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.factory.bodies.held, 0)

    def test_large_headers(self) -> None:
        """Headers above 16 KiB are refused."""
        sent = self.send(
            b"GET /echo HTTP/1.1\r\n" + b"".join(b"a%d: %b\r\n" % (n, b"x" * 1000) for n in range(20))
        )
        self.assertTrue(sent.startswith(b"HTTP/1.1 400 "), sent)

    def test_slow_request(self) -> None:
        """A request that takes too long ends its connection, however steadily it comes."""
        self.send(b"GET /echo HTTP/1.1\r\n")
        for _ in range(29):
            self.clock.advance(1)
            self.protocol.dataReceived(b"a: b\r\n")
        self.assertFalse(self.transport.aborted)
        self.clock.advance(1)
        self.assertTrue(self.transport.aborted)

    def test_idle(self) -> None:
        """An idle connection is closed, one whose request is being answered is not."""
        self.send(b"GET /later HTTP/1.1\r\n\r\n")
        self.clock.advance(100)
        self.assertFalse(self.transport.disconnecting or self.transport.aborted)
        self.answers[0].callback(Answer(200))
        self.clock.advance(60)
        self.assertTrue(self.transport.disconnecting)

    def test_gone(self) -> None:
        """A client that goes while its request is being answered does no harm, and no timer stays."""
        self.send(b"GET /later HTTP/1.1\r\n\r\n")
        self.protocol.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.factory.channels, set())
