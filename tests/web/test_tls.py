"""HTTP over TLS: the client's principal, and clients that speak plain HTTP to it, or TLS to plain HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from OpenSSL import SSL
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.net.requests import Session
from kafkatx.net.tls.listener import TlsListeners
from kafkatx.tls.authority import issue, make_authority
from kafkatx.web.calls import Answer, Call
from kafkatx.web.limits import WebLimits
from kafkatx.web.server import WebServerFactory
from kafkatx.web.site import Site
from tests.net.tls import test_connection as tls
from tests.net.tls.test_listener import at_once

REQUEST = b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Transport(StringTransport):
    """A transport over TCP."""

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Do nothing."""


class TlsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a site that notes who asks."""
        self.clock = Clock()
        self.sessions: list[Session] = []
        site = Site()
        site.mount(("echo",), lambda: self.echo)
        self.plain = WebServerFactory(site, WebLimits(), self.clock, "HTTPS")
        self.lines: list[str] = []
        self.patch(self.plain.log, "warn", lambda text, **values: self.lines.append(text.format(**values)))

    def echo(self, call: Call) -> Answer:
        """Note who asks."""
        self.sessions.append(call.session)
        return Answer(200, b"hello")

    def listen(self, **settings: str) -> Any:
        """Return the factory of a listener with TLS."""
        values: Mapping[str, str] = {
            "listener.name.https.ssl.keystore.key": tls.BROKER.key_pem().decode(),
            "listener.name.https.ssl.keystore.certificate.chain": tls.BROKER.certificate_pem.decode(),
            "ssl.truststore.certificates": tls.AUTHORITY.certificate_pem.decode(),
            **{f"listener.name.https.{name.replace('_', '.')}": value for name, value in settings.items()},
        }
        config = BrokerConfig.load(None, values)
        listeners = TlsListeners(config.of_listener, lambda function: at_once(function))
        self.addCleanup(listeners.stop)
        return listeners.wrap(self.plain)

    def accept(self, factory: Any) -> tuple[Any, StringTransport]:
        """Accept a connection."""
        transport = Transport(peerAddress=IPv4Address("TCP", "192.0.2.1", 5000))
        connection = factory.buildProtocol(transport.getPeer())
        connection.makeConnection(transport)
        return connection, transport

    def ask(self, client: tls.Client, factory: Any) -> bytes:
        """Ask over TLS; return the response."""
        connection, transport = self.accept(factory)
        self.exchange(client, connection, transport)
        client.ssl.send(REQUEST)
        self.exchange(client, connection, transport)
        pieces: list[bytes] = []
        with contextlib.suppress(SSL.WantReadError):
            while True:  # each write is a record
                pieces.append(client.ssl.recv(1 << 16))
        return b"".join(pieces)

    def exchange(self, client: tls.Client, connection: Any, transport: StringTransport) -> None:
        """Pass bytes between both ends until both are silent."""
        for _ in range(6):
            sent = client.output()
            if sent:
                connection.dataReceived(sent)
            if transport.value():
                client.ssl.bio_write(transport.value())
                transport.clear()

    def test_principal(self) -> None:
        """A request has the principal of the client's certificate, by the listener's rules."""
        factory = self.listen(ssl_client_auth="required", ssl_principal_mapping_rules="RULE:CN=(.*)/$1/U")
        answer = self.ask(tls.Client(issue(tls.AUTHORITY, "alice")), factory)
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b"hello"), answer)
        self.assertEqual(self.sessions, [("User:ALICE", "HTTPS")])

    def test_anonymous(self) -> None:
        """A client without a certificate is anonymous where none is required, and refused where one is."""
        self.assertIn(b"hello", self.ask(tls.Client(), self.listen()))
        self.assertEqual(self.sessions, [("User:ANONYMOUS", "HTTPS")])
        with self.assertRaises(SSL.Error):
            self.ask(tls.Client(), self.listen(ssl_client_auth="required"))
        stranger = issue(make_authority("other"), "alice")
        with self.assertRaises(SSL.Error):
            self.ask(tls.Client(stranger), self.listen(ssl_client_auth="requested"))
        self.assertEqual(len(self.sessions), 1)

    def test_plain_text(self) -> None:
        """A client that speaks plain HTTP is disconnected, and one line of the log tells what to do."""
        connection, transport = self.accept(self.listen())
        with contextlib.suppress(SSL.Error):
            connection.dataReceived(REQUEST)
        self.assertTrue(transport.disconnected)
        self.assertEqual((len(self.lines), self.sessions), (1, []))
        self.assertIn("the TLS listener HTTPS; use https://", self.lines[0])

    def test_tls_to_plain(self) -> None:
        """A client that speaks TLS to a plain listener is disconnected at once, with one line of the log."""
        connection, transport = self.accept(self.plain)
        connection.dataReceived(tls.Client().output())
        self.assertTrue(transport.disconnected)
        self.assertEqual(len(self.lines), 1)
        self.assertIn("use http:// in its URL", self.lines[0])
