"""Contexts of OpenSSL."""

from __future__ import annotations

import contextlib
from datetime import datetime, timezone

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.net.tls.contexts import client_context, days_left, error_text, server_context
from kafkatx.tls.authority import issue, make_authority
from kafkatx.tls.ciphers import SECURE
from kafkatx.tls.keystore import Identity
from kafkatx.tls.settings import TlsSettings

AUTHORITY = make_authority("tests")
BROKER = issue(AUTHORITY, "broker", ("localhost",))
IDENTITY = Identity(BROKER.key, (BROKER.certificate,))


def tls(
    identity: Identity | None = IDENTITY,
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3"),
    trusts: bool = True,
) -> TlsSettings:
    """Return settings."""
    return TlsSettings(identity, (AUTHORITY.certificate,) if trusts else None, protocols, SECURE, True)


def shake(server: SSL.Context, client: SSL.Context) -> tuple[SSL.Connection, SSL.Connection]:
    """Make a handshake in memory; return both ends.

    :raises SSL.Error: it fails.
    """
    end = SSL.Connection(client, None)
    return exchange(server, end), end


def exchange(server: SSL.Context, client: SSL.Connection) -> SSL.Connection:
    """Make a handshake in memory; return the server's end.

    :raises SSL.Error: it fails.
    """
    other = SSL.Connection(server, None)
    other.set_accept_state()
    client.set_connect_state()
    for _ in range(8):
        for one, two in ((client, other), (other, client)):
            with contextlib.suppress(SSL.WantReadError):
                one.do_handshake()
            with contextlib.suppress(SSL.WantReadError):
                two.bio_write(one.bio_read(1 << 16))
    return other


class ContextTests(SynchronousTestCase):
    def test_versions(self) -> None:
        """Both ends agree on the highest version that both enable, or fail."""
        for protocols, version in (
            (("TLSv1.2", "TLSv1.3"), "TLSv1.3"),
            (("TLSv1.2",), "TLSv1.2"),
        ):
            server, _ = shake(server_context(tls(protocols=protocols), "none"), client_context(tls(None)))
            self.assertEqual(server.get_protocol_version_name(), version)
        newer = server_context(tls(protocols=("TLSv1.3",)), "none")
        self.assertRaises(SSL.Error, shake, newer, client_context(tls(None, ("TLSv1.2",))))

    def test_client_auth(self) -> None:
        """A required certificate is required, a requested one may be missing, but not be wrong."""
        stranger = issue(make_authority("other"), "eve")
        foreign = client_context(tls(Identity(stranger.key, (stranger.certificate,))))
        for auth, client, succeeds in (
            ("none", client_context(tls(None)), True),
            ("requested", client_context(tls(None)), True),
            ("requested", foreign, False),
            ("required", client_context(tls(None)), False),
            ("required", client_context(tls()), True),
        ):
            if succeeds:
                shake(server_context(tls(), auth), client)
            else:
                self.assertRaises(SSL.Error, shake, server_context(tls(), auth), client)

    def test_no_tickets(self) -> None:
        """No session can be resumed, past an authority that is trusted no more."""
        context = server_context(tls(), "required")
        self.assertTrue(SSL.OP_NO_TICKET & context.set_options(0))
        self.assertEqual(context.get_session_cache_mode(), SSL.SESS_CACHE_OFF)

    def test_refused(self) -> None:
        """A listener needs a key, and authorities for client certificates."""
        self.assertIn(
            "kafkatx tls init", str(self.assertRaises(SettingError, server_context, tls(None), "none"))
        )
        error = self.assertRaises(SettingError, server_context, tls(trusts=False), "required")
        self.assertIn("set ssl.truststore.location", str(error))

    def test_days_left(self) -> None:
        """The days until the chain expires."""
        end = BROKER.certificate.not_valid_after_utc
        self.assertEqual(days_left(IDENTITY, end.timestamp() - 86_400), 1)
        self.assertLess(days_left(IDENTITY, datetime(2200, 1, 1, tzinfo=timezone.utc).timestamp()), 0)

    def test_error_text(self) -> None:
        """An error of OpenSSL is its reasons in one line."""
        self.assertEqual(
            error_text(SSL.Error([("a", "b", "unknown ca"), ("", "", "end")])), "unknown ca; end"
        )
        self.assertEqual(error_text(ValueError("one\ntwo")), "one")
