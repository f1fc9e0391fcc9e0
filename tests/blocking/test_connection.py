"""Tests of kafkatx.blocking.connection, over one end of a socket pair whose other end is written before."""

from __future__ import annotations

import socket
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import connection as connection_module
from kafkatx.blocking.connection import Connection
from kafkatx.blocking.security import SaslDial
from kafkatx.clientcore.errors import AuthenticationFailed, ConnectionFailed
from kafkatx.clientcore.login import password_login
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.codec import encode
from kafkatx.wire.frames import FrameDecoder
from kafkatx.wire.headers import decode_request_header, encode_response_header
from kafkatx.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataResponse
from kafkatx.wire.messages.produce import ProduceRequest, ProduceResponse
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeResponse

HANDSHAKE = (17, 1, SaslHandshakeResponse(0, ["PLAIN"]))
METADATA = (3, 5, MetadataResponse(controller_id=4))
VERSIONS = ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 3), ApiVersion(3, 0, 5), ApiVersion(0, 0, 9)])


def reply(
    key: int, version: int, correlation_id: int, message: Any, body_version: int | None = None
) -> bytes:
    """A whole response frame."""
    body = encode_response_header(key, version, correlation_id)
    body += encode(message, version if body_version is None else body_version)
    return len(body).to_bytes(4, "big") + body


class Peers:
    """Stands for ``socket.create_connection``: each connection finds the next script waiting to be read.

    A script is what each call to ``recv`` gives, then the end; None refuses the connection.
    """

    def __init__(self, *scripts: list[bytes] | None) -> None:
        self.scripts = list(scripts)
        self.ends: list[socket.socket] = []

    def __call__(self, address: tuple[str, int], timeout: float) -> socket.socket:
        """The next connection, or its refusal."""
        script = self.scripts.pop(0)
        if script is None:
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for data in script:
            theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        self.ends.append(theirs)
        return ours

    def requests(self, index: int) -> list[tuple[int, int, str | None]]:
        """(API key, version, client id) of what came over one connection so far."""
        self.ends[index].setblocking(False)
        received = iter(lambda: self._next(index), b"")
        headers = [
            decode_request_header(body)[0] for data in received for body in FrameDecoder(1 << 20).feed(data)
        ]
        return [(header.api_key, header.api_version, header.client_id) for header in headers]

    def close(self) -> None:
        """Close the other ends."""
        for end in self.ends:
            end.close()

    def _next(self, index: int) -> bytes:
        try:
            return self.ends[index].recv(1 << 20)
        except BlockingIOError:
            return b""


class ConnectionTests(SynchronousTestCase):
    def connection(self, *scripts: list[bytes] | None, **options: Any) -> Connection:
        """A connection whose sockets have these scripts."""
        self.peers = Peers(*scripts)
        made = Connection("broker", 9092, dial=self.peers, **options)
        self.addCleanup(self.peers.close)
        self.addCleanup(made.close)
        return made

    def test_negotiates_at_first_use(self) -> None:
        """ApiVersions 3 goes first, and the request then has the highest version that both know."""
        answer = MetadataResponse(controller_id=4)
        connection = self.connection([reply(18, 3, 0, VERSIONS), reply(3, 5, 1, answer)], client_id="me")
        self.assertEqual(connection.request(MetadataRequest(topics=None)).controller_id, 4)
        self.assertEqual(self.peers.requests(0), [(18, 3, "me"), (3, 5, "me")])

    def test_older_api_versions(self) -> None:
        """A broker that answers ApiVersions 3 with error 35 is asked again in the version that it names."""
        refusal = ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[ApiVersion(18, 0, 1)]
        )
        connection = self.connection([reply(18, 3, 0, refusal, 0), reply(18, 1, 1, VERSIONS)])
        self.assertEqual(connection.version_for(MetadataRequest), 5)
        self.assertEqual([version for _, version, _ in self.peers.requests(0)], [3, 1])

    def test_broker_without_api_versions(self) -> None:
        """A broker that closes on ApiVersions 3 and 0 is spoken to in version 0."""
        answer = MetadataResponse()
        connection = self.connection([], [], [reply(3, 0, 0, answer), reply(3, 0, 1, answer)])
        connection.request(MetadataRequest(topics=[]))
        self.assertEqual([self.peers.requests(i) for i in range(3)],
                         [[(18, 3, "kafkatx")], [(18, 0, "kafkatx")], [(3, 0, "kafkatx")] * 2])  # fmt: skip

    def test_proxy_without_broker(self) -> None:
        """A peer that closes each connection is away, not old."""
        connection = self.connection([], [], [])
        self.assertRaises(ConnectionFailed, connection.version_for, ListOffsetsRequest)

    def test_unknown_api(self) -> None:
        """An API that the broker does not offer is refused here, and the connection stays."""
        connection = self.connection([reply(18, 3, 0, VERSIONS)])
        error = self.assertRaises(RequestError, connection.send, ListOffsetsRequest())
        self.assertEqual(error.code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertFalse(connection.closed)

    def test_pipelining(self) -> None:
        """Several requests are under way, and their replies may be claimed in any order."""
        replies = [reply(3, 5, i, MetadataResponse(controller_id=i)) for i in (1, 2, 3)]
        script = [reply(18, 3, 0, VERSIONS), replies[0] + replies[1][:7], replies[1][7:], replies[2]]
        connection = self.connection(script)
        tickets = [connection.send(MetadataRequest(topics=[])) for _ in range(3)]
        got = [connection.receive(ticket).controller_id for ticket in reversed(tickets)]
        self.assertEqual(got, [3, 2, 1])

    def test_without_reply(self) -> None:
        """A produce request with acks=0 takes no reply away from the request after it."""
        script = [reply(18, 3, 0, VERSIONS), reply(0, 9, 2, ProduceResponse(throttle_time_ms=5))]
        connection = self.connection(script)
        connection.send(ProduceRequest(acks=0), expect_reply=False)
        ticket = connection.send(ProduceRequest(acks=1))
        self.assertEqual(connection.receive(ticket).throttle_time_ms, 5)

    def test_refused(self) -> None:
        """The error of a broker that is not there names it and says what to do."""
        connection = self.connection(None)
        error = self.assertRaises(ConnectionFailed, connection.open)
        self.assertIn("no broker answers at broker:9092 (Connection refused): start one", str(error))
        self.assertTrue(connection.closed)

    def test_closed_by_broker(self) -> None:
        """A connection that the broker closes after negotiation is closed for good."""
        connection = self.connection([reply(18, 3, 0, VERSIONS)])
        error = self.assertRaises(ConnectionFailed, connection.request, MetadataRequest(topics=[]))
        self.assertIn("broker:9092 closed the connection", str(error))
        self.assertTrue(connection.closed)
        self.assertRaises(ConnectionFailed, connection.send, MetadataRequest(topics=[]))

    def test_silence(self) -> None:
        """A broker that keeps silent for timeout_s is given up, and the message says so."""
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        connection = Connection("broker", 9092, timeout_s=0.001, dial=lambda address, timeout: ours)
        error = self.assertRaises(ConnectionFailed, connection.open)
        self.assertIn("did not answer within 0.001 s", str(error))

    def test_not_kafka(self) -> None:
        """A peer that speaks another protocol is told so to the user."""
        connection = self.connection([b"HTTP/1.1 400 Bad Request\r\n\r\n"])
        error = self.assertRaises(ConnectionFailed, connection.open)
        self.assertIn("does not speak Kafka's protocol", str(error))

    def test_ipv6_address(self) -> None:
        """An IPv6 address is shown in brackets."""
        self.assertEqual(Connection("::1", 9092).address, "[::1]:9092")


class LoginTests(SynchronousTestCase):
    """Logins at brokers with SASL."""

    def setUp(self) -> None:
        """A time that the test says."""
        self.now_s = 0.0
        self.patch(connection_module, "monotonic", lambda: self.now_s)

    def connection(self, *responses: tuple[int, int, Any]) -> Connection:
        """Return a connection that finds these responses of (API key, version)."""
        versions = ApiVersionsResponse(
            api_keys=[ApiVersion(18, 0, 3), ApiVersion(3, 0, 5), ApiVersion(17, 0, 1), ApiVersion(36, 0, 2)]
        )
        every = [(18, 3, versions), *responses]
        self.peers = Peers([reply(key, version, at, one) for at, (key, version, one) in enumerate(every)])
        login = password_login("PLAIN", "alice", "sesame")
        made = Connection("broker", 9092, dial=SaslDial(login, self.peers))
        self.addCleanup(self.peers.close)
        self.addCleanup(made.close)
        return made

    def test_first(self) -> None:
        """A connection begins with the login."""
        connection = self.connection(HANDSHAKE, (36, 2, SaslAuthenticateResponse()), METADATA, METADATA)
        connection.request(MetadataRequest(topics=None))
        self.now_s = 1e9
        connection.request(MetadataRequest(topics=None))
        self.assertEqual([key for key, _, _ in self.peers.requests(0)], [18, 17, 36, 3, 3])

    def test_again(self) -> None:
        """After 0.85 of a session the next request comes after a login; earlier responses are kept."""
        session = (36, 2, SaslAuthenticateResponse(session_lifetime_ms=100_000))
        connection = self.connection(HANDSHAKE, session, METADATA, HANDSHAKE, session, METADATA, METADATA)
        ticket = connection.send(MetadataRequest(topics=None))
        self.now_s = 86
        connection.request(MetadataRequest(topics=None))
        self.assertEqual(connection.receive(ticket).controller_id, 4)
        self.now_s = 170
        connection.request(MetadataRequest(topics=None))
        self.assertEqual([key for key, _, _ in self.peers.requests(0)], [18, 17, 36, 3, 17, 36, 3, 3])

    def test_refused(self) -> None:
        """A refused login closes the connection, and is told without the password."""
        refusal = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "no")
        connection = self.connection(HANDSHAKE, (36, 2, refusal))
        error = self.assertRaises(AuthenticationFailed, connection.request, MetadataRequest(topics=None))
        self.assertIn("refuses the login by PLAIN: no", str(error))
        self.assertNotIn("sesame", str(error))
        self.assertTrue(connection.closed)
