"""OAUTHBEARER."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.security.sasl.errors import SaslError
from kafkatx.security.sasl.oauthbearer import ABORT, INVALID_TOKEN, BearerToken, OAuthBearerClient, decode

RFC_7628 = (
    b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01"
    b"auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01"
)


class MessageTests(SynchronousTestCase):
    def test_rfc_7628(self) -> None:
        """The example of RFC 7628 is read, and a client's message is read back."""
        found = decode(RFC_7628)
        self.assertEqual(found, BearerToken("vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==", "user@example.com"))
        self.assertEqual(decode(OAuthBearerClient("a.b.c").first()), BearerToken("a.b.c"))

    def test_refused(self) -> None:
        """Other forms are refused."""
        right = BearerToken("a.b.c").encode()
        wrong = (
            *(b"", ABORT, b"n,,", right[:-1], right[1:], b"y" + right[1:], right.replace(b"Bearer ", b"")),
            *(right.replace(b"auth", b"hut"), right.replace(b"a.b.c", b"a b"), right.replace(b"a.b.c", b"")),
            *(right[:-1] + b"auth=Bearer d\x01\x01", right.replace(b"a.b", b"a\xff")),
        )
        for message in wrong:
            self.assertRaises(SaslError, decode, message)

    def test_no_secret_shown(self) -> None:
        """The token is not in the text for logs."""
        self.assertNotIn("a.b.c", repr(BearerToken("a.b.c")))


class ClientTests(SynchronousTestCase):
    def test_accepted(self) -> None:
        """An empty answer ends the exchange well."""
        self.assertIsNone(OAuthBearerClient("a.b.c").step(b""))

    def test_refused(self) -> None:
        """An error is acknowledged; if the server goes on then, the client does not."""
        for error, told in ((INVALID_TOKEN, "invalid_token"), (b"x", "no reason"), (b"[]", "no reason")):
            client = OAuthBearerClient("a.b.c")
            self.assertEqual(client.step(error), ABORT)
            self.assertIn(told, str(self.assertRaises(SaslError, client.step, b"")))

    def test_no_token(self) -> None:
        """A text that cannot be a token is not sent, since it could change the message."""
        for text in ("", "a b", "a\x01auth=Bearer b"):
            self.assertRaises(SaslError, OAuthBearerClient(text).first)
