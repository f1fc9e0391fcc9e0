"""Users in the settings."""

from __future__ import annotations

from twisted.cred.credentials import UsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins.jaas_users import JaasUsers


class JaasUsersTests(SynchronousTestCase):
    def test_check(self) -> None:
        """A user needs its own password; another one, and an unknown user, are refused."""
        checker = JaasUsers({"käthe": "ö", "bob": "b"})
        self.assertEqual(checker.requestAvatarId(UsernamePassword("käthe".encode(), "ö".encode())), "käthe")
        for user, password in ((b"bob", b"x"), (b"bob", b""), (b"eve", b"b"), (b"eve", b"")):
            self.assertRaises(UnauthorizedLogin, checker.requestAvatarId, UsernamePassword(user, password))
