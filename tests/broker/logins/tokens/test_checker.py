"""Logins by OAUTHBEARER at a listener."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafkatx.clientcore.errors import AuthenticationFailed
from kafkatx.clientcore.login import ClientLogin
from kafkatx.security.sasl.oauthbearer import OAuthBearerClient
from tests.broker.logins.case import LoginTestCase
from tests.broker.logins.tokens.issuer import ISSUER, NOW_S, key_set, token
from tests.broker.running import NOW_MS

LOGIN = ClientLogin("OAUTHBEARER", OAuthBearerClient)


class CheckerTests(LoginTestCase):
    sasl: ClassVar[Mapping[str, str]] = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": "kafka",
    }

    def setUp(self) -> None:
        """Write the keys of the issuer to a file."""
        self.keys = self.mktemp()
        self.write("a")
        self.sasl = {**self.sasl, "sasl.oauthbearer.jwks.endpoint.url": f"file:{self.keys}"}  # type: ignore[misc]
        super().setUp()
        self.assertEqual(NOW_MS, NOW_S * 1000)

    def write(self, *keys: str) -> None:
        """Write public keys to the file."""
        with open(self.keys, "wb") as file:
            file.write(key_set(*keys))

    def test_session(self) -> None:
        """A session ends with its token; another token of the same user begins the next one."""
        peer = self.connect()
        self.assertEqual(peer.log_in(LOGIN, token()), 300 * 0.85)
        self.assertEqual(peer.principal, "User:alice")
        self.clock.advance(300)
        self.now_ms += 300_000
        peer.log_in(LOGIN, token(exp=NOW_S + 600))
        self.assertTrue(peer.works())
        error = self.assertRaises(AuthenticationFailed, peer.log_in, LOGIN, token(sub="bob", exp=NOW_S + 600))
        self.assertIn("invalid credentials", str(error))
        self.assertEqual(peer.principal, "User:alice")

    def test_expired(self) -> None:
        """A session whose token has ended serves nothing."""
        peer = self.connect()
        peer.log_in(LOGIN, token(exp=NOW_S + 1))
        self.clock.advance(1)
        self.assertFalse(peer.works())

    def test_refused(self) -> None:
        """A client is told that its token does not count, and not why."""
        for text in (token("b"), token(iss="x"), token(exp=NOW_S - 100), "a.b.c"):
            self.assertNotIn("issuer", self.refused(LOGIN, token=text))

    def test_new_key(self) -> None:
        """A key that the issuer has since yesterday is found with the first token that it signs."""
        self.connect().log_in(LOGIN, token("a"))
        self.write("a", "b")
        self.clock.advance(1)
        self.connect().log_in(LOGIN, token("b"))
