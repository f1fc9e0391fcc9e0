"""The TLS layer of a server's connection, against a client of OpenSSL in memory."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

from OpenSSL import SSL
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from kafkatx.config import BrokerConfig
from kafkatx.net.admission.held_off import HeldOff
from kafkatx.net.server import ListenerFactory
from kafkatx.net.tls.connection import TlsConnection
from kafkatx.net.tls.contexts import client_context
from kafkatx.net.tls.handshakes import HandshakeLimits
from kafkatx.net.tls.listener import Certificates, TlsFactory
from kafkatx.tls.authority import Issued, issue, make_authority
from kafkatx.tls.ciphers import SECURE
from kafkatx.tls.keystore import Identity
from kafkatx.tls.settings import TlsSettings
from tests.net.fakes import ConnectionTestCase, fetch

AUTHORITY = make_authority("tests")
BROKER = issue(AUTHORITY, "broker", ("localhost",))


class Client:
    """A client of OpenSSL in memory."""

    def __init__(self, user: Issued | None = None) -> None:
        identity = None if user is None else Identity(user.key, (user.certificate,))
        settings = TlsSettings(identity, (AUTHORITY.certificate,), ("TLSv1.2", "TLSv1.3"), SECURE, False)
        self.ssl = SSL.Connection(client_context(settings), None)
        self.ssl.set_connect_state()

    def output(self) -> bytes:
        """Return what it sends."""
        with contextlib.suppress(SSL.WantReadError):
            self.ssl.do_handshake()
        with contextlib.suppress(SSL.WantReadError):
            return self.ssl.bio_read(1 << 20)
        return b""


class TlsConnectionTests(ConnectionTestCase):
    def listen(self, limits: HandshakeLimits | None = None, **settings: str) -> TlsFactory:
        """Return the factory of a listener with TLS."""
        config = BrokerConfig.load(
            None,
            {
                "ssl.keystore.key": BROKER.key_pem().decode(),
                "ssl.keystore.certificate.chain": BROKER.certificate_pem.decode(),
                "ssl.truststore.certificates": AUTHORITY.certificate_pem.decode(),
                **{name.replace("_", "."): value for name, value in settings.items()},
            },
        )
        certificates = Certificates("OUT", lambda: config.of_listener("OUT"))
        below = ListenerFactory(self.factory, self.requests, "OUT")
        return TlsFactory(certificates, below, limits or HandshakeLimits())

    def accept(self, factory: TlsFactory) -> tuple[Any, StringTransport]:
        """Accept a connection."""
        transport = StringTransport(peerAddress=IPv4Address("TCP", "192.0.2.1", 5000))
        connection = factory.buildProtocol(transport.getPeer())
        connection.makeConnection(transport)
        return connection, transport

    def exchange(self, client: Client, connection: TlsConnection, transport: StringTransport) -> None:
        """Pass bytes between both ends until both are silent."""
        for _ in range(6):
            sent = client.output()
            if sent:
                connection.dataReceived(sent)
            if transport.value():
                client.ssl.bio_write(transport.value())
                transport.clear()

    def setUp(self) -> None:
        """Note the log's lines."""
        super().setUp()
        self.lines: list[str] = []
        self.factory.log = SimpleNamespace(  # type: ignore[assignment]
            warn=lambda text, **values: self.lines.append(text.format(**values))
        )

    def test_principal(self) -> None:
        """A request is answered after the handshake; the peer has the certificate's principal."""
        connection, transport = self.accept(self.listen(ssl_client_auth="required"))
        client = Client(issue(AUTHORITY, "alice"))
        self.exchange(client, connection, transport)
        client.ssl.send(fetch(b"one"))
        self.exchange(client, connection, transport)
        self.assertEqual(self.requests.events, [b"one"])
        self.assertEqual(connection.wrappedProtocol.peer.session, ("User:CN=alice", "OUT"))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_anonymous(self) -> None:
        """Without a certificate the peer is anonymous."""
        connection, transport = self.accept(self.listen())
        self.exchange(Client(), connection, transport)
        self.assertEqual(connection.wrappedProtocol.peer.session, ("User:ANONYMOUS", "OUT"))

    def test_no_rule(self) -> None:
        """No request is read of a peer whose certificate no rule matches."""
        connection, transport = self.accept(
            self.listen(ssl_client_auth="required", ssl_principal_mapping_rules="RULE:CN=bob/bob/")
        )
        client = Client(issue(AUTHORITY, "alice"))
        self.exchange(client, connection, transport)
        with contextlib.suppress(SSL.Error):
            client.ssl.send(fetch(b"one"))
            self.exchange(client, connection, transport)
        self.assertEqual(self.requests.events, [])
        self.assertTrue(transport.disconnecting or transport.disconnected)
        self.assertIn("no rule of ssl.principal.mapping.rules", self.lines[0])

    def test_plain_text(self) -> None:
        """Plain text is told in one line, and nothing of it is served."""
        connection, transport = self.accept(self.listen())
        connection.dataReceived(fetch(b"one"))
        connection.dataReceived(fetch(b"two"))
        self.assertTrue(transport.disconnected)
        self.assertEqual(len(self.lines), 1)
        self.assertIn("it sends plain text to the TLS listener OUT", self.lines[0])
        self.assertEqual((self.requests.events, len(connection.factory.handshakes)), ([], 0))

    def test_time_out(self) -> None:
        """A handshake that is not done in time is closed; one that is done stays."""
        factory = self.listen()
        done, transport = self.accept(factory)
        self.exchange(Client(), done, transport)
        slow, slow_transport = self.accept(factory)
        slow.dataReceived(b"\x16\x03")
        self.clock.advance(10)
        self.assertEqual((transport.disconnected, slow_transport.disconnected), (False, True))
        self.assertIn("was not done within 10 s", self.lines[0])

    def test_too_many(self) -> None:
        """An address with too many handshakes loses its oldest; one that is done does not count."""
        self.factory.unauthenticated.most = 1
        factory = self.listen()
        done, done_transport = self.accept(factory)
        self.exchange(Client(), done, done_transport)
        _, old_transport = self.accept(factory)
        _, new_transport = self.accept(factory)
        dropped = [transport.disconnected for transport in (done_transport, old_transport, new_transport)]
        self.assertEqual(dropped, [False, True, False])
        self.assertIn("kafkatx.unauthenticated.connections.max.per.ip=1", self.lines[0])

    def test_health_check(self) -> None:
        """A peer that connects and leaves causes no line, whether it closes or resets the connection."""
        for why in (ConnectionDone(), ConnectionLost()):
            connection, _ = self.accept(self.listen())
            connection.connectionLost(Failure(why))
        self.assertEqual((self.lines, self.clock.getDelayedCalls()), ([], []))
        self.assertEqual(len(self.factory.unauthenticated), 0)

    def test_held_off(self) -> None:
        """A connection above the rate of its address gets no handshake."""
        self.factory.admission.limit_addresses({None: 0.1})
        factory = self.listen()
        self.accept(factory)
        held = factory.buildProtocol(IPv4Address("TCP", "192.0.2.1", 5000))
        self.assertIsInstance(held, HeldOff)

    def test_too_much(self) -> None:
        """A peer cannot send without end before its handshake is done."""
        connection, transport = self.accept(self.listen(HandshakeLimits(per_second=1)))
        for _ in range(2):
            connection.factory.handshakes.turn_s(self.clock.seconds())
        connection.dataReceived(b"\x16")
        connection.dataReceived(bytes(300_000))
        self.assertTrue(transport.disconnected)
        self.assertIn("before its TLS handshake was done", self.lines[0])

    def test_turn(self) -> None:
        """A handshake above the rate is paused until its turn comes."""
        factory = self.listen(HandshakeLimits(per_second=2))
        for _ in range(2):
            factory.handshakes.turn_s(self.clock.seconds())
        connection, transport = self.accept(factory)
        client = Client()
        connection.dataReceived(client.output())
        self.assertEqual((transport.producerState, transport.value()), ("paused", b""))
        self.clock.advance(1)
        self.assertEqual(transport.producerState, "producing")
        self.assertNotEqual(transport.value(), b"")

    def test_leaves_without_a_word(self) -> None:
        """A health check that connects and leaves is not logged, and leaves no timer."""
        connection, _ = self.accept(self.listen())
        self.lose(connection)
        self.assertEqual((self.lines, self.clock.getDelayedCalls()), ([], []))
