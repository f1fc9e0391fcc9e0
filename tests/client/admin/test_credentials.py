"""Tests of kafkatx.client.admin.credentials."""

from __future__ import annotations

from kafkatx.clientcore.admin.security.credentials import UserCredential
from kafkatx.errors import RequestError
from tests.blocking.admin.credentials_contract import SHA_256, SHA_512, CredentialsContract
from tests.blocking.fake_credentials import FakeUsers
from tests.client.admins import AdminTestCase


class CredentialsTests(CredentialsContract, AdminTestCase):
    def setUp(self) -> None:
        """Make a cluster without users."""
        self.fake = FakeUsers()
        self.open(self.fake)
        self.credentials = self.admin.credentials

    def describe(self, users: tuple[str, ...] = ()) -> list[UserCredential]:
        """Describe users."""
        found: list[UserCredential] = self.result(self.credentials.describe(users), 10.0)
        return found

    def set_password(self, user: str, password: str, mechanism: str, iterations: int) -> None:
        """Set a password."""
        self.result(self.credentials.set_password(user, password, mechanism, iterations), 10.0)

    def delete(self, user: str, mechanisms: list[str]) -> None:
        """Delete credentials."""
        self.result(self.credentials.delete(user, mechanisms), 10.0)

    def test_defaults(self) -> None:
        """A password is for the strongest mechanism; without mechanisms all of a user go."""
        self.result(self.credentials.set_password("ann", "x"))
        self.assertEqual(self.describe(), [UserCredential("ann", SHA_512, 8192)])
        self.set_password("ann", "x", SHA_256, 4096)
        self.result(self.credentials.delete("ann"))
        self.assertEqual(self.describe(), [])
        self.error(RequestError, self.credentials.delete("ann"))
