"""DescribeUserScramCredentials."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from tests.broker.handlers.test_alter_user_scram_credentials import CredentialsTestCase, upsertion


class DescribeTests(CredentialsTestCase):
    def test_named(self) -> None:
        """Only the named users are described; unknown ones and repeated ones have Kafka's errors."""
        self.alter(upsertion(), upsertion("bob"))
        self.assertEqual([(one.user, one.error_code) for one in self.describe("bob")], [("bob", 0)])
        self.assertEqual(
            [(one.user, one.error_code) for one in self.describe("eve", "bob", "ann", "bob")],
            [("eve", ErrorCode.RESOURCE_NOT_FOUND), ("bob", ErrorCode.DUPLICATE_RESOURCE), ("ann", 0)],
        )

    def test_damaged(self) -> None:
        """A credential that cannot be read is shown without iterations."""
        altering = self.broker.metadata.alter_scram_credentials({"ann": {"SCRAM-SHA-256": "x"}})
        self.successResultOf(altering)
        self.assertEqual(self.infos(), {"ann": [(1, 0)]})
