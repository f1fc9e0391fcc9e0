"""Tests of kafkatx.networkclient.connection."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import DNSLookupError
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.backoff import Backoff
from kafkatx.clientcore.errors import (
    AuthenticationFailed,
    ClientClosed,
    ConnectionFailed,
    RequestTimedOut,
)
from kafkatx.clientcore.login import password_login
from kafkatx.errors import ErrorCode
from kafkatx.networkclient.connection import BrokerConnection, SaslEndpoints
from kafkatx.networkclient.protocol import ConnectionLimits
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkatx.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.client.fakes import Network


class ConnectionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a connection to a broker that is not opened yet."""
        self.network = Network()
        self.network.answers[ListGroupsRequest] = lambda *_: ListGroupsResponse()
        self.network.answers[FindCoordinatorRequest] = self.find
        self.found: list[tuple[str, int]] = []
        self.failures = 0
        self.connection = self.make()

    def make(self, **more: Any) -> BrokerConnection:
        """Make another connection."""
        return BrokerConnection(
            self.network.clock,
            ("broker1", 9092),
            client_id="me",
            limits=ConnectionLimits(request_s=30.0),
            connect_s=10.0,
            backoff=Backoff(first_ms=1000, longest_ms=4000),
            **{"make_endpoint": self.network.endpoint, "on_failure": self.count, **more},
        )

    def count(self) -> None:
        """Count a failure of the broker."""
        self.failures += 1

    def find(self, node: int, request: Any, version: int) -> FindCoordinatorResponse:
        """Record key and version."""
        self.found.append((request.key, version))
        return FindCoordinatorResponse()

    def ask(self) -> Deferred[Any]:
        """Send a request."""
        return self.connection.request(ListGroupsRequest())

    def test_opens_when_needed(self) -> None:
        """The first request opens the connection; waiting requests share an attempt, and keep their order."""
        self.assertEqual(self.network.dialled, [])
        waiting = [
            self.connection.request(FindCoordinatorRequest(key=str(number)), at_most=2) for number in range(5)
        ]
        self.network.pump()
        for one in waiting:
            self.successResultOf(one)
        self.assertEqual(self.network.dialled, [("broker1", 9092)])
        self.assertEqual(self.found, [(str(number), 2) for number in range(5)])
        self.assertTrue(self.connection.connected)

    def test_refused(self) -> None:
        """Waiting requests fail with address and reason, and the failure callback is called."""
        self.network.down.add(1)
        error = self.failureResultOf(self.ask(), ConnectionFailed).value
        self.assertIn("no broker answers at broker1:9092 (Connection was refused", str(error))
        self.assertEqual((self.failures, len(self.network.dialled)), (1, 1))
        self.assertTrue(self.connection.failing)

    def test_backoff(self) -> None:
        """The pauses between attempts double up to the longest; requests meanwhile wait for their end."""
        self.network.down.add(1)
        self.failureResultOf(self.ask(), ConnectionFailed)
        for pause in (1, 2, 4, 4):
            waiting = self.ask()
            self.network.pump(pause - 0.1)
            self.assertNoResult(waiting)
            self.network.pump(0.2)
            self.failureResultOf(waiting, ConnectionFailed)
        self.network.down.clear()
        self.network.result(self.ask(), 5)
        self.assertFalse(self.connection.failing)
        self.network.kill(1)
        self.failureResultOf(self.ask(), ConnectionFailed)  # at once: the first attempt after a success
        self.network.down.clear()
        self.network.result(self.ask(), 1.1)

    def test_reconnects(self) -> None:
        """The next request after a lost connection opens another."""
        self.network.result(self.ask())
        self.network.live(1)[0].lose()
        self.assertEqual((self.connection.connected, self.failures), (False, 1))
        self.network.result(self.ask())
        self.assertEqual(len(self.network.links), 2)

    def test_hanging(self) -> None:
        """An attempt without an answer is given up after the connection setup time-out."""
        self.network.hanging.add(1)
        waiting = self.ask()
        self.network.pump(9.9)
        self.assertNoResult(waiting)
        self.network.pump(0.2)
        error = self.failureResultOf(waiting, ConnectionFailed).value
        self.assertIn("broker1:9092 (no connection within 10 s)", str(error))

    def test_mute(self) -> None:
        """A connection to a silent peer is closed after the time-out of a request."""
        self.network.mute.add(1)
        waiting = self.ask()
        self.network.pump(30.1)
        self.failureResultOf(waiting, RequestTimedOut)
        self.assertEqual(self.network.live(), [])

    def test_unexpected(self) -> None:
        """Every error of an endpoint becomes ConnectionFailed."""

        class Broken:
            def connect(self, factory: Any) -> Any:
                raise DNSLookupError("no such host")

        self.connection = self.make(make_endpoint=lambda *_: Broken())
        self.assertIn("no such host", str(self.failureResultOf(self.ask(), ConnectionFailed).value))

    def test_cancel(self) -> None:
        """A request that is cancelled leaves the attempt to the others."""
        first, second = self.ask(), self.ask()
        first.cancel()
        self.failureResultOf(first, CancelledError)
        self.network.pump()
        self.successResultOf(second)
        self.assertEqual(len(self.network.requests), 1)

    def test_close_while_connecting(self) -> None:
        """A close ends the attempt and fails the waiting requests, and nothing is left behind."""
        for prepare in (self.network.hanging, self.network.mute, self.network.down):
            prepare.add(1)
            self.connection = self.make()
            waiting = self.ask()
            if prepare is self.network.down:
                self.failureResultOf(waiting)
                waiting = self.ask()
            self.successResultOf(self.connection.close())
            self.failureResultOf(waiting, ClientClosed)
            self.failureResultOf(self.ask(), ClientClosed)
            prepare.clear()
            self.network.run(10, step=1)
            self.assertEqual(self.network.clock.getDelayedCalls(), [])
            self.assertEqual(self.network.live(), [])

    def test_close(self) -> None:
        """Requests fail with the close's error, which does not count as a failure of the broker."""
        self.network.result(self.ask())
        waiting = self.ask()
        closed = self.connection.close(ConnectionFailed("moved"))
        self.failureResultOf(waiting, ConnectionFailed)
        self.network.pump()
        self.successResultOf(closed)
        self.assertEqual(str(self.failureResultOf(self.ask(), ConnectionFailed).value), "moved")
        self.assertEqual(self.failures, 0)

    def test_tcp(self) -> None:
        """The default endpoint is TCP to host and port, IPv6 included."""
        connection = BrokerConnection(
            MemoryReactorClock(),
            ("::1", 9093),
            client_id="me",
            limits=ConnectionLimits(),
            connect_s=10.0,
            backoff=Backoff(),
        )
        self.assertEqual(connection.address, "[::1]:9093")
        self.assertIsInstance(connection._endpoint, HostnameEndpoint)


class ImmediateTests(SynchronousTestCase):
    def test_no_coroutine_on_the_straight_path(self) -> None:
        """A request on an open connection goes directly to the protocol, without a coroutine."""
        network = Network()
        connection = BrokerConnection(
            network.clock,
            ("broker1", 9092),
            client_id="me",
            limits=ConnectionLimits(),
            connect_s=1.0,
            backoff=Backoff(),
            make_endpoint=network.endpoint,
        )
        protocol = network.result(connection.ready())
        marker: Deferred[Any] = succeed(1)
        self.patch(protocol, "request", lambda message, **options: marker)
        self.assertIs(connection.request(ListGroupsRequest()), marker)


class LoginTests(SynchronousTestCase):
    """Logins at brokers with SASL."""

    def setUp(self) -> None:
        """Make a connection to a broker whose sessions last for 100 s."""
        self.network = Network()
        self.network.answers[ListGroupsRequest] = lambda *_: ListGroupsResponse()
        self.network.answers[SaslHandshakeRequest] = lambda *_: SaslHandshakeResponse(0, ["PLAIN"])
        self.network.answers[SaslAuthenticateRequest] = self.authenticate
        self.password, self.lifetime_ms = b"sesame", 100_000
        self.held: list[Deferred[Any]] | None = None
        endpoints = SaslEndpoints(password_login("PLAIN", "alice", "sesame"), self.network.endpoint)
        self.connection = BrokerConnection(
            self.network.clock,
            ("broker1", 9092),
            client_id="me",
            limits=ConnectionLimits(request_s=30.0),
            connect_s=10.0,
            backoff=Backoff(first_ms=1000, longest_ms=4000),
            make_endpoint=endpoints,
        )

    def authenticate(self, node: int, request: Any, version: int) -> Any:
        """Compare the password; wait if the test holds the answers."""
        if bytes(request.auth_bytes) != b"\0alice\0" + self.password:
            return SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "no")
        response = SaslAuthenticateResponse(session_lifetime_ms=self.lifetime_ms)
        if self.held is None:
            return response
        waiting: Deferred[Any] = Deferred()
        self.held.append(waiting)
        return waiting

    def sent(self) -> list[str]:
        """Return the names of the requests so far, without ApiVersions."""
        return [type(request).__name__.removesuffix("Request") for _, request in self.network.requests]

    def ask(self) -> Any:
        """Send a request, and return its response."""
        return self.network.result(self.connection.request(ListGroupsRequest()))

    def test_first(self) -> None:
        """A connection begins with the login."""
        self.ask()
        self.assertEqual(self.sent(), ["SaslHandshake", "SaslAuthenticate", "ListGroups"])

    def test_refused(self) -> None:
        """A refused login fails the requests and closes the connection; the next request tries again."""
        self.password = b"other"
        waiting = self.connection.request(ListGroupsRequest())
        self.network.pump()
        self.failureResultOf(waiting, AuthenticationFailed)
        self.assertEqual(self.network.live(), [])
        self.password = b"sesame"
        waiting = self.connection.request(ListGroupsRequest())
        self.network.pump(5)
        self.successResultOf(waiting)

    def test_again(self) -> None:
        """After 0.85 of a session the next request waits for a login on the same connection."""
        self.ask()
        self.network.pump(84)
        self.ask()
        self.network.pump(2)
        self.assertEqual(self.sent()[3:], ["ListGroups"])
        self.ask()
        self.assertEqual(self.sent()[4:], ["SaslHandshake", "SaslAuthenticate", "ListGroups"])
        self.ask()
        self.assertEqual(self.sent()[7:], ["ListGroups"])
        self.assertEqual(len(self.network.links), 1)

    def test_requests_wait(self) -> None:
        """All requests wait while a login is under way, and keep their order."""
        self.ask()
        self.network.pump(86)
        self.held = []
        waiting = [self.connection.request(ListGroupsRequest()) for _ in range(3)]
        self.network.pump()
        waiting.append(self.connection.request(ListGroupsRequest()))
        self.network.pump()
        self.assertEqual(self.sent()[3:], ["SaslHandshake", "SaslAuthenticate"])
        self.held[0].callback(SaslAuthenticateResponse(session_lifetime_ms=100_000))
        self.network.pump()
        for one in waiting:
            self.successResultOf(one)
        self.assertEqual(self.sent()[5:], ["ListGroups"] * 4)

    def test_refused_again(self) -> None:
        """A client that is refused while it logs in again loses the connection; its requests fail."""
        self.ask()
        self.network.pump(86)
        self.password = b"other"
        waiting = [self.connection.request(ListGroupsRequest()) for _ in range(2)]
        self.network.pump()
        for one in waiting:
            self.failureResultOf(one, AuthenticationFailed)
        self.assertEqual(self.network.live(), [])

    def test_lost_meanwhile(self) -> None:
        """A connection that is lost during a login fails the requests that wait for it."""
        self.ask()
        self.network.pump(86)
        self.held = []
        waiting = self.connection.request(ListGroupsRequest())
        self.network.pump()
        self.network.kill(1)
        self.failureResultOf(waiting, ConnectionFailed)
