"""The stored credentials of SCRAM."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.security.sasl.credential import BY_NUMBER, MECHANISMS, ScramCredential, parse_credential
from kafkatx.security.sasl.errors import SaslError

TEXT = (
    "salt=MWx3NGJzcWw1ZXF1bXhqbXRldmx3Z3A3ag==,stored_key=yQ3ZCFLgcAPB+kSHxyCpOGyCE9sZZ4YUfBPGZGkUgLA=,"
    "server_key=K8xpB6LFPbjB5QqZ3mGLnHDLxcxNLFyHmJqGgIIs4ck=,iterations=8192"
)


class CredentialTests(SynchronousTestCase):
    def test_text(self) -> None:
        """Kafka's text of a credential is read and written again as it was."""
        self.assertEqual(str(parse_credential(TEXT)), TEXT)
        self.assertEqual(parse_credential(TEXT).iterations, 8192)

    def test_no_secret_shown(self) -> None:
        """The keys are not in the text for logs."""
        self.assertNotIn("stored_key", repr(parse_credential(TEXT)))

    def test_damaged(self) -> None:
        """Damaged texts are refused."""
        for text in (
            "",
            "salt=x",
            TEXT.replace("8192", "0"),
            TEXT.replace("8192", "x"),
            TEXT.replace("=,", "*,"),
        ):
            self.assertRaises(SaslError, parse_credential, text)

    def test_matches(self) -> None:
        """A credential tells its password from others."""
        for mechanism in MECHANISMS.values():
            credential = ScramCredential.of_password(mechanism, "pencil", b"salt", 4096)
            self.assertTrue(credential.matches(mechanism, "pencil"))
            self.assertFalse(credential.matches(mechanism, "pencils"))
            self.assertIs(BY_NUMBER[mechanism.number], mechanism)
