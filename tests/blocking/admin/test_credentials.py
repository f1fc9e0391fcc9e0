"""Tests of kafkatx.blocking.admin.credentials."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.credentials import Credentials
from kafkatx.clientcore.admin.security.credentials import UserCredential
from tests.blocking.admin.credentials_contract import CredentialsContract
from tests.blocking.fake_credentials import FakeUsers


class CredentialsTests(CredentialsContract, SynchronousTestCase):
    def setUp(self) -> None:
        """Make a cluster without users."""
        self.fake = FakeUsers()
        self.credentials = Credentials(self.fake.client(retries=3))

    def describe(self, users: tuple[str, ...] = ()) -> list[UserCredential]:
        """Describe users."""
        return self.credentials.describe(users)

    def set_password(self, user: str, password: str, mechanism: str, iterations: int) -> None:
        """Set a password."""
        self.credentials.set_password(user, password, mechanism, iterations)

    def delete(self, user: str, mechanisms: list[str]) -> None:
        """Delete credentials."""
        self.credentials.delete(user, mechanisms)
