"""Schemes of Authorization: what they read of a header, and what they pass on."""

from __future__ import annotations

import base64

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.schemes import Basic, Bearer, Login


def basic(user: str, password: str) -> str:
    """Return the value of a header."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


class SchemesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make schemes that record what they check."""
        self.checked: list[tuple[str, ...]] = []
        self.basic, self.bearer = Basic(self.check), Bearer(self.check)

    def check(self, *parts: str) -> Deferred[Login]:
        """Record a check."""
        self.checked.append(parts)
        return succeed(Login("User:x"))

    def test_basic(self) -> None:
        """User and password are divided by the first colon; the user is named, the password is not."""
        attempt = self.basic.read("basic  " + basic("a", "b:ü:").partition(" ")[2])
        assert attempt is not None
        self.successResultOf(attempt.check("192.0.2.1"))
        self.assertEqual(self.checked, [("a", "b:ü:", "192.0.2.1")])
        self.assertEqual(attempt.who, "user 'a'")

    def test_bearer(self) -> None:
        """A token has the characters that tokens have; it is nowhere named."""
        attempt = self.bearer.read("bearer abc.def-_~+/==")
        assert attempt is not None
        self.successResultOf(attempt.check("192.0.2.1"))
        self.assertEqual((self.checked, attempt.who), ([("abc.def-_~+/==",)], "a token"))

    def test_others(self) -> None:
        """A header of another scheme, or without credentials, is none of this one."""
        for header in ("", "Basic", "Basic ?", "Basic /w==", basic("", "p"), "Bearer x"):
            self.assertIsNone(self.basic.read(header), header)
        for header in ("", "Bearer", "Bearer ", "Bearer a b", "Bearer a\x01", "Bearer \xff", basic("a", "p")):
            self.assertIsNone(self.bearer.read(header), header)
