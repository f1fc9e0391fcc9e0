"""AlterUserScramCredentials: credentials are checked, stored, and refused with the right error."""

from __future__ import annotations

from typing import Any

from kafkatx.errors import ErrorCode
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential, parse_credential
from kafkatx.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkatx.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.broker.running import BrokerTestCase, codes

ALTER, DESCRIBE = 51, 50
SHA_256, SHA_512 = 1, 2


def upsertion(user: str = "ann", mechanism: int = SHA_256, **more: Any) -> ScramCredentialUpsertion:
    """Return a change that sets a password, ``secret``."""
    chosen = MECHANISMS["SCRAM-SHA-512" if mechanism == SHA_512 else "SCRAM-SHA-256"]
    salted = chosen.salted_password("secret", b"salt", 4096)
    values = {"iterations": 4096, "salt": b"salt", "salted_password": salted, **more}
    return ScramCredentialUpsertion(user, mechanism, **values)


class CredentialsTestCase(BrokerTestCase):
    """A broker whose users have credentials."""

    def alter(self, *changes: Any) -> list[int]:
        """Return the error codes of changes, by user."""
        request = AlterUserScramCredentialsRequest(
            [one for one in changes if isinstance(one, ScramCredentialDeletion)],
            [one for one in changes if isinstance(one, ScramCredentialUpsertion)],
        )
        return codes(self.ask(ALTER, 0, request).results)

    def describe(self, *users: str) -> Any:
        """Return the descriptions of users, or of all."""
        named = [UserName(user) for user in users] or None
        return self.ask(DESCRIBE, 0, DescribeUserScramCredentialsRequest(named)).results

    def infos(self) -> dict[str, list[tuple[int, int]]]:
        """Return mechanisms and iterations of all users."""
        return {
            one.user: [(info.mechanism, info.iterations) for info in one.credential_infos]
            for one in self.describe()
        }


class AlterTests(CredentialsTestCase):
    def test_set_and_delete(self) -> None:
        """Credentials are set, changed and deleted; the stored keys fit the password, which is not kept."""
        self.assertEqual(self.alter(upsertion(), upsertion("bob"), upsertion(mechanism=SHA_512)), [0, 0])
        self.assertEqual(self.infos(), {"ann": [(1, 4096), (2, 4096)], "bob": [(1, 4096)]})
        for name, text in self.broker.metadata.state.scram_credentials["ann"].items():
            self.assertTrue(parse_credential(text).matches(MECHANISMS[name], "secret"))
            self.assertEqual(len(parse_credential(text).salt), 4)
        deletion = ScramCredentialDeletion("ann", SHA_256)
        self.assertEqual(self.alter(deletion, upsertion("ann", SHA_512)), [0])
        self.assertEqual(self.infos(), {"ann": [(2, 4096)], "bob": [(1, 4096)]})

    def test_wrong(self) -> None:
        """Each wrong change has Kafka's error; it refuses the user's others, and no other user's."""
        for change, code in (
            (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
            (upsertion(".."), ErrorCode.UNACCEPTABLE_CREDENTIAL),
            (upsertion(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
            (upsertion(iterations=16_385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
            (upsertion(salt=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
            (upsertion(salt=bytes(1001)), ErrorCode.UNACCEPTABLE_CREDENTIAL),
            (upsertion(salted_password=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
            (upsertion(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
            (ScramCredentialDeletion("ann", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
            (ScramCredentialDeletion("ann", SHA_256), ErrorCode.RESOURCE_NOT_FOUND),
        ):
            self.assertEqual(self.alter(change), [code])
        self.assertEqual(self.infos(), {})
        self.assertEqual(self.alter(), [])
        wrong = upsertion(iterations=1)
        good = upsertion(mechanism=SHA_512)
        self.assertEqual(self.alter(good, upsertion("bob"), wrong), [ErrorCode.UNACCEPTABLE_CREDENTIAL, 0])
        self.assertEqual(self.infos(), {"bob": [(1, 4096)]})

    def test_any_length(self) -> None:
        """A salted password of any length is taken; the keys are those that its hash gives."""
        for salted in (b"s", b"my-salted-password", bytes(200)):
            for number, mechanism in ((SHA_256, "SCRAM-SHA-256"), (SHA_512, "SCRAM-SHA-512")):
                self.assertEqual(self.alter(upsertion(mechanism=number, salted_password=salted)), [0])
                stored = self.broker.metadata.state.scram_credentials["ann"][mechanism]
                expected = ScramCredential.of_salted(MECHANISMS[mechanism], salted, b"salt", 4096)
                self.assertEqual(parse_credential(stored), expected)

    def test_twice(self) -> None:
        """A credential that is changed twice in a request is not changed."""
        for changes in ((upsertion(), upsertion()), (ScramCredentialDeletion("ann", SHA_256), upsertion())):
            self.assertEqual(self.alter(*changes), [ErrorCode.DUPLICATE_RESOURCE])
