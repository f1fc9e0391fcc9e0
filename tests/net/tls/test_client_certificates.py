"""The keys and certificates of a client, whose files change."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import SettingError
from kafkatx.net.tls.client_certificates import ClientCertificates
from kafkatx.net.tls.endpoints import TlsEndpoints
from kafkatx.tls.authority import issue, make_authority

AUTHORITY = make_authority("tests")


class ClientCertificatesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a client's keystore."""
        self.path = os.path.abspath(self.mktemp())
        self.write("alice", 0)
        self.clock = Clock()

    def write(self, name: str, at_s: int, data: bytes | None = None) -> None:
        """Write a keystore, or some data, with a time of change."""
        with open(self.path, "wb") as file:
            file.write(issue(AUTHORITY, name).keystore_pem() if data is None else data)
        os.utime(self.path, (at_s, at_s))

    def make(self, **more: str) -> ClientCertificates:
        """Return the certificates of a client."""
        chosen = {"security.protocol": "SSL", "ssl.keystore.location": self.path, **more}
        return ClientCertificates(ClientSettings.load("admin", chosen))

    def name(self, certificates: ClientCertificates) -> str:
        """Bring them up to date; return the name in the client's certificate."""
        self.successResultOf(certificates.refresh(self.clock))
        identity = certificates.current.identity
        assert identity is not None
        return identity.chain[0].subject.rfc4514_string()

    def test_renewed(self) -> None:
        """Changed files are used; files that are the same are not read again."""
        certificates = self.make()
        first = certificates.current
        self.assertEqual(self.name(certificates), "CN=alice")
        self.assertIs(certificates.current, first)
        self.write("bob", 1)
        self.assertEqual(self.name(certificates), "CN=bob")

    def test_unusable(self) -> None:
        """Files that cannot be used change nothing; the log says so once."""
        certificates = self.make()
        self.write("", 1, b"no certificate")
        with capturedLogs() as events:
            self.assertEqual([self.name(certificates) for _ in range(3)], ["CN=alice"] * 3)
        errors = [event for event in events if event["log_level"] is LogLevel.error]
        self.assertEqual(len(errors), 1)
        self.assertIn("ssl.keystore.location=", str(errors[0]["error"]))
        self.write("bob", 2)
        self.assertEqual(self.name(certificates), "CN=bob")

    def test_at_the_start(self) -> None:
        """Files that cannot be used at the start are an error."""
        self.write("", 1, b"no certificate")
        self.assertRaises(SettingError, self.make)

    def test_endpoint(self) -> None:
        """A connection begins when they are up to date, in whichever thread that is found out."""
        certificates, made = self.make(), []

        class Below:
            def connect(self, factory: Any) -> Deferred[Any]:
                """Connect at once."""
                made.append(factory)
                protocol = factory.buildProtocol(None)
                protocol.makeConnection(StringTransport())
                connected: Deferred[Any] = Deferred()
                connected.callback(protocol)
                return connected

        looking: Deferred[None] = Deferred()
        below: Any = lambda *_: Below()  # noqa: E731
        endpoints = TlsEndpoints(lambda: certificates.current, below, lambda reactor: looking)
        connecting = endpoints(self.clock, "h", 1).connect(Factory.forProtocol(Protocol))
        self.assertEqual(made, [])
        looking.callback(None)
        self.assertIsInstance(self.successResultOf(connecting), Protocol)
