"""Endpoints of brokers over TLS: the check of the host."""

from __future__ import annotations

from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.tls.contexts import server_context
from kafkatx.net.tls.endpoints import TlsEndpoints
from kafkatx.tls.authority import issue, make_authority
from kafkatx.tls.ciphers import SECURE
from kafkatx.tls.keystore import Identity
from kafkatx.tls.settings import TlsSettings
from tests.net.tls.test_contexts import exchange

AUTHORITY = make_authority("tests")
BROKER = issue(AUTHORITY, "broker", ("b.example", "10.0.0.7"))
BOTH = ("TLSv1.2", "TLSv1.3")


class Layer:
    """The TLS layer of a connection; it notes failures."""

    failure: Failure | None = None

    def failVerification(self, reason: Failure) -> None:
        """Note the failure."""
        self.failure = reason


class EndpointTests(SynchronousTestCase):
    def failure(self, host: str, checks_host: bool = True) -> Failure | None:
        """Return the failure of a connection to a host, or None."""
        server = server_context(
            TlsSettings(Identity(BROKER.key, (BROKER.certificate,)), None, BOTH, SECURE, True), "none"
        )
        settings = TlsSettings(None, (AUTHORITY.certificate,), BOTH, SECURE, checks_host)
        layer = Layer()
        client = TlsEndpoints(lambda: settings).creator(host).clientConnectionForTLS(layer)
        exchange(server, client)
        return layer.failure

    def test_host(self) -> None:
        """A certificate is for the hosts that it names alone, unless the check is off."""
        for host in ("b.example", "10.0.0.7"):
            self.assertIsNone(self.failure(host))
        for host in ("c.example", "10.0.0.8"):
            self.assertIsNotNone(self.failure(host))
            self.assertIsNone(self.failure(host, checks_host=False))

    def test_renewed(self) -> None:
        """New connections begin with the settings of now; the context of a host is made once."""
        current = [TlsSettings(None, (AUTHORITY.certificate,), BOTH, SECURE, True) for _ in range(2)]
        endpoints = TlsEndpoints(lambda: current[0])
        first = endpoints.creator("h")
        self.assertIs(endpoints.creator("h"), first)
        del current[0]
        self.assertIsNot(endpoints.creator("h"), first)
