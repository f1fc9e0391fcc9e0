"""Requests about SCRAM credentials, and their replies."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.security import credentials as c
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential
from kafkatx.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kafkatx.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

SHA_512 = MECHANISMS["SCRAM-SHA-512"]


class CredentialsTests(SynchronousTestCase):
    def test_describe(self) -> None:
        """Credentials come in the order of users and mechanisms."""
        self.assertIsNone(c.describe_request().users)
        self.assertEqual([user.name for user in c.describe_request(["a"]).users or ()], ["a"])
        response = DescribeUserScramCredentialsResponse(
            results=[
                DescribeUserScramCredentialsResult("b", 0, None, [CredentialInfo(9, 1)]),
                DescribeUserScramCredentialsResult(
                    "a", 0, None, [CredentialInfo(2, 8192), CredentialInfo(1, 4096)]
                ),
            ]
        )
        self.assertEqual(
            [(one.user, one.mechanism, one.iterations) for one in c.user_credentials(response)],
            [("a", "SCRAM-SHA-256", 4096), ("a", "SCRAM-SHA-512", 8192), ("b", "unknown", 1)],
        )

    def test_errors(self) -> None:
        """The error of a reply, or of a user in it, is raised with the user's name."""
        whole = DescribeUserScramCredentialsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        self.assertRaises(RequestError, c.user_credentials, whole)
        result = DescribeUserScramCredentialsResult("eve", ErrorCode.RESOURCE_NOT_FOUND, "no")
        error = self.assertRaises(
            RequestError, c.user_credentials, DescribeUserScramCredentialsResponse(results=[result])
        )
        self.assertEqual(str(error), "user 'eve': no")
        altered = AlterUserScramCredentialsResult("eve", ErrorCode.UNACCEPTABLE_CREDENTIAL, "no")
        error = self.assertRaises(
            RequestError, c.check_altered, AlterUserScramCredentialsResponse(results=[altered])
        )
        self.assertEqual(str(error), "user 'eve': no")

    def test_set(self) -> None:
        """The salted password is sent, with a new salt each time, and not the password."""
        first, second = (c.set_request("ann", "sesame", SHA_512, 4096).upsertions[0] for _ in range(2))
        self.assertNotEqual(first.salt, second.salt)
        self.assertNotIn("sesame", repr(first))
        credential = ScramCredential.of_salted(SHA_512, first.salted_password, first.salt, first.iterations)
        self.assertTrue(credential.matches(SHA_512, "sesame"))

    def test_delete(self) -> None:
        """Each mechanism is deleted; an unknown one is an error."""
        deletions = c.delete_request("ann", MECHANISMS.values()).deletions
        self.assertEqual([(one.name, one.mechanism) for one in deletions], [("ann", 1), ("ann", 2)])
        self.assertIn(
            "SCRAM-SHA-256 or SCRAM-SHA-512", str(self.assertRaises(SettingError, c.mechanism_of, "PLAIN"))
        )
