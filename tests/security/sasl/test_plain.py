"""PLAIN."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.security.sasl.client import PlainClient
from kafkatx.security.sasl.errors import SaslError
from kafkatx.security.sasl.plain import PlainToken, decode


class PlainTests(SynchronousTestCase):
    def test_rfc_4616(self) -> None:
        """The example of RFC 4616 is read, and a client's token is read back."""
        self.assertEqual(decode(b"\0tim\0tanstaaftanstaaf"), PlainToken("tim", "tanstaaftanstaaf"))
        self.assertEqual(decode(PlainClient("käthe", "ö=,").first()), PlainToken("käthe", "ö=,"))

    def test_refused(self) -> None:
        """Other forms are refused, and so is a client that wants to act for another user."""
        self.assertEqual(decode(b"tim\0tim\0x").user, "tim")
        wrong = (b"", b"tim", b"\0\0", b"\0tim\0", b"\0\0x", b"\0a\0b\0c", b"\0\xff\0x", b"Ursel\0Kurt\0x")
        for token in wrong:
            self.assertRaises(SaslError, decode, token)

    def test_no_secret_shown(self) -> None:
        """The password is not in the token's text."""
        self.assertNotIn("secret", repr(PlainToken("tim", "secret")))

    def test_client(self) -> None:
        """A client has one token, and expects no other one from the server."""
        client = PlainClient("tim", "x")
        self.assertIsNone(client.step(b""))
        self.assertRaises(SaslError, client.step, b"x")
