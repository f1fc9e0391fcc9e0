"""The contract of both admin clients for SCRAM users: of ``kafkatx users``, and of Twisted programs."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.security.credentials import UserCredential
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError, SettingError
from kafkatx.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kafkatx.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from tests.blocking.fake_credentials import FakeUsers
from tests.blocking.fakes import LOSE_REQUEST

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


class CredentialsContract:
    """Tests of a client of :attr:`fake`, which a subclass makes, with a case of trial."""

    fake: FakeUsers

    def describe(self, users: tuple[str, ...] = ()) -> list[UserCredential]:
        """Describe users."""
        raise NotImplementedError

    def set_password(self, user: str, password: str, mechanism: str, iterations: int) -> None:
        """Set a password."""
        raise NotImplementedError

    def delete(self, user: str, mechanisms: list[str]) -> None:
        """Delete credentials."""
        raise NotImplementedError

    @property
    def case(self) -> SynchronousTestCase:
        """The test case."""
        case: Any = self
        assert isinstance(case, SynchronousTestCase)
        return case

    def refused(self, kind: type[KafkaTXError], *call: Any) -> Any:
        """Return the error of a call."""
        return self.case.assertRaises(kind, *call)

    def test_changes(self) -> None:
        """A user is added, described, gets another password, and is deleted."""
        self.set_password("ann", "one", SHA_512, 4096)
        self.set_password("ann", "two", SHA_256, 5000)
        self.set_password("ben", "three", SHA_512, 4096)
        self.set_password("ann", "four", SHA_512, 8192)
        self.case.assertTrue(self.fake.knows("ann", SHA_512, "four"))
        self.case.assertFalse(self.fake.knows("ann", SHA_512, "one"))
        self.case.assertTrue(self.fake.knows("ann", SHA_256, "two"))
        ann = [UserCredential("ann", SHA_256, 5000), UserCredential("ann", SHA_512, 8192)]
        ben = UserCredential("ben", SHA_512, 4096)
        self.case.assertEqual(self.describe(), [*ann, ben])
        self.case.assertEqual(self.describe(("ann",)), ann)
        self.delete("ann", [SHA_512])
        self.case.assertEqual(self.describe(), [ann[0], ben])
        self.delete("ann", [SHA_256])
        self.case.assertEqual(self.describe(), [ben])

    def test_no_password_is_sent(self) -> None:
        """No request has a password, and each has a salt of its own."""
        self.set_password("ann", "sesame", SHA_512, 4096)
        self.set_password("ann", "sesame", SHA_512, 4096)
        sent = self.fake.sent(AlterUserScramCredentialsRequest)
        self.case.assertNotIn("sesame", repr(sent))
        self.case.assertNotEqual(*(bytes(one.upsertions[0].salt) for one in sent))

    def test_refused(self) -> None:
        """A refusal names the user; an unknown mechanism is not asked for."""
        error = self.refused(RequestError, self.describe, ("eve",))
        self.case.assertEqual(error.code, ErrorCode.RESOURCE_NOT_FOUND)
        self.case.assertIn("'eve'", str(error))
        error = self.refused(RequestError, self.set_password, "ann", "x", SHA_256, 4095)
        self.case.assertEqual(error.code, ErrorCode.UNACCEPTABLE_CREDENTIAL)
        self.set_password("ann", "x", SHA_256, 4096)
        error = self.refused(RequestError, self.delete, "ann", [SHA_256, SHA_512])
        self.case.assertEqual(error.code, ErrorCode.RESOURCE_NOT_FOUND)
        self.case.assertEqual(len(self.describe(("ann",))), 1)
        self.refused(SettingError, self.set_password, "ann", "x", "SCRAM-SHA-1", 4096)
        self.refused(SettingError, self.delete, "ann", ["PLAIN"])

    def test_denied(self) -> None:
        """A denial is told; a request that got lost is sent again."""
        denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        self.fake.faults[DescribeUserScramCredentialsRequest].append(denied)
        self.case.assertEqual(self.refused(RequestError, self.describe).code, denied)
        self.fake.faults[AlterUserScramCredentialsRequest].append(denied)
        error = self.refused(RequestError, self.set_password, "ann", "x", SHA_256, 4096)
        self.case.assertEqual(error.code, denied)
        self.fake.faults[AlterUserScramCredentialsRequest].append(LOSE_REQUEST)
        self.set_password("ann", "x", SHA_256, 4096)
        self.case.assertEqual(len(self.describe()), 1)
