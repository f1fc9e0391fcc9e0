"""Forwarding: what is sent on, and what each failure means."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost, ConnectionRefusedError
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import URI, ResponseDone, ResponseFailed
from twisted.web.http_headers import Headers

from kafkatx.broker.registry import forwarded_body
from kafkatx.broker.registry.forwarded_body import BodyReader, BodyTooLarge
from kafkatx.broker.registry.forwarder import Forwarder
from kafkatx.net.requests import Session
from kafkatx.nodes import Endpoint
from kafkatx.registry.errors import RegistryError
from kafkatx.types import BrokerNode
from kafkatx.web.budget import Budget
from kafkatx.web.calls import OF_BROKER, Answer, Call

LEADER = BrokerNode(2, "b2", 9092, http=Endpoint("HTTP", "::1", 8081))
POST = Call("POST", "/subjects/a%2Fb/versions?x=1", (), {}, {"content-type": "a/json", "cookie": "c"}, b"{}")
GET = Call("GET", "/subjects", (), {}, {"accept": "x/json"})


class FakeResponse:
    """A response of another broker."""

    def __init__(self, code: int = 409, *parts: bytes) -> None:
        self.code = code
        self.parts = parts or (b"[1", b"]")

    def deliverBody(self, protocol: BodyReader) -> None:
        """Deliver a body in parts."""
        for part in self.parts:
            protocol.dataReceived(part)
        protocol.connectionLost(Failure(ResponseDone()))


class ForwarderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a forwarder whose agent waits for the test."""
        self.clock = Clock()
        self.leader = LEADER
        self.forwarder = Forwarder(7, self.clock, 10.0)
        self.asked: list[tuple[bytes, bytes, Headers, Any]] = []
        self.response: Deferred[Any] = Deferred()
        self.patch(self.forwarder, "_agent", self)

    def request(self, method: bytes, url: bytes, headers: Headers, body: Any) -> Deferred[Any]:
        """Note a request."""
        self.asked.append((method, url, headers, body))
        return self.response

    def send(self, call: Call) -> Deferred[Answer]:
        """Forward a request."""
        return Deferred.fromCoroutine(self.forwarder.send(self.leader, call))

    def code(self, call: Call, error: Exception) -> int:
        """Forward a request that fails; return the code."""
        self.response = Deferred()
        sending = self.send(call)
        self.response.errback(error)
        found: RegistryError = self.failureResultOf(sending, RegistryError).value
        return found.code

    def test_passed_on(self) -> None:
        """Method, target, type and body are passed on with the mark; the answer comes back as it is."""
        sending = self.send(POST)
        self.response.callback(FakeResponse())
        answer = self.successResultOf(sending)
        self.assertEqual((answer.status, answer.body), (409, b"[1]"))
        ((method, url, headers, body),) = self.asked
        self.assertEqual((method, url), (b"POST", b"http://[::1]:8081/subjects/a%2Fb/versions?x=1"))
        self.assertEqual(headers.getRawHeaders("x-forward"), ["7"])
        self.assertEqual(headers.getRawHeaders("content-type"), ["a/json"])
        self.assertIsNone(headers.getRawHeaders("cookie"))
        self.assertEqual(body.length, 2)

    def test_principal(self) -> None:
        """The leader is told whose request it is, also of an anonymous client; not for the broker's own."""
        for session, expected in (
            (Session("User:CN=ünn", "HTTPS"), ["User%3ACN%3D%C3%BCnn"]),
            (Session(), ["User%3AANONYMOUS"]),
            (Session("", ""), [""]),
            (OF_BROKER, None),
        ):
            self.send(attrs.evolve(GET, session=session))
            self.assertEqual(self.asked.pop()[2].getRawHeaders("x-forward-principal"), expected)

    def test_https(self) -> None:
        """A leader with TLS is asked over TLS, and never without."""
        self.leader = attrs.evolve(LEADER, http=Endpoint("HTTPS", "b2", 8081, "SSL"))
        error = self.failureResultOf(self.send(GET), RegistryError).value
        self.assertIn("http.listeners", str(error))
        self.assertEqual(self.asked, [])
        made: list[tuple[str, int]] = []

        def make(reactor: object, host: str, port: int) -> Any:
            made.append((host, port))
            return "over TLS"

        forwarder = Forwarder(7, self.clock, 10.0, make)
        agent = forwarder._agent
        self.patch(forwarder, "_agent", self)
        sending = Deferred.fromCoroutine(forwarder.send(self.leader, GET))
        self.response.callback(FakeResponse())
        self.successResultOf(sending)
        self.assertEqual(self.asked[0][1], b"https://b2:8081/subjects")
        uri = URI.fromBytes(self.asked[0][1])
        self.assertEqual((agent._endpointFactory.endpointForURI(uri), made), ("over TLS", [("b2", 8081)]))

    def test_not_sent(self) -> None:
        """A leader that cannot be reached has got nothing: the request may be sent again."""
        for call in (GET, POST):
            self.assertEqual(self.code(call, ConnectionRefusedError()), 50004)

    def test_not_leading(self) -> None:
        """A broker that does not lead has done nothing: the request may be sent again; other errors pass."""
        for status, body, code in (
            (500, b'{"error_code":50004}', 50004),
            (500, b'{"error_code":50001}', None),
            (500, b"<html>", None),
            (404, b'{"error_code":50004}', None),
        ):
            self.response = Deferred()
            sending = self.send(POST)
            self.response.callback(FakeResponse(status, body))
            if code is None:
                self.assertEqual(self.successResultOf(sending).status, status)
            else:
                self.assertEqual(self.failureResultOf(sending, RegistryError).value.code, code)

    def test_lost(self) -> None:
        """A change that was sent may have been made; a read may be sent again."""
        lost = ResponseFailed([Failure(ConnectionLost())])
        self.assertEqual([self.code(GET, lost), self.code(POST, lost)], [50004, 50003])

    def test_late(self) -> None:
        """A leader that does not answer in time fails the request."""
        sending = self.send(POST)
        self.clock.advance(10)
        self.assertEqual(self.failureResultOf(sending, RegistryError).value.code, 50003)

    def test_gone(self) -> None:
        """A client that goes ends the wait."""
        sending = self.send(GET)
        sending.cancel()
        self.failureResultOf(sending)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_large(self) -> None:
        """An answer above the limit is not kept in memory, and does not use up the budget of others."""
        self.patch(forwarded_body, "MOST_BYTES", 3)
        budget = Budget(100)
        reader = BodyReader(budget)
        for part in (b"123", b"4", b"5"):
            reader.dataReceived(part)
        reader.connectionLost(Failure(ConnectionLost()))
        self.failureResultOf(reader.done, BodyTooLarge)
        self.assertEqual((reader.size, budget.held), (3, 3))

    def test_budget(self) -> None:
        """Answers share one budget, which is free again when they have come."""
        sending = self.send(POST)
        self.response.callback(FakeResponse())
        self.successResultOf(sending)
        self.assertEqual(self.forwarder._held.held, 0)
        first, second = BodyReader(budget := Budget(3)), BodyReader(budget)
        first.dataReceived(b"12")
        second.dataReceived(b"34")
        self.failureResultOf(second.done, BodyTooLarge)
        self.assertNoResult(first.done)
