"""Secrets in all the forms that they take, and texts that have none."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.debug.redaction import Redaction, is_public, secrets_of
from kafkatx.config.table.row import HIDDEN
from kafkatx.tls.authority import make_authority

JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="s3cret-ann";'
)
SETTINGS = {
    "ssl.keystore.password": "hunter22",
    "listener.name.sasl.plain.sasl.jaas.config": JAAS,
    "log.dirs": "/data",
    "my.unknown": "what-is-this",
    "my.secret": "of-mine",
}


class RedactionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Know the secrets of some settings."""
        self.redaction = Redaction([SETTINGS])

    def test_known(self) -> None:
        """A known secret is nowhere, also in the middle of a word."""
        for secret in ("hunter22", "s3cret-ann", "of-mine"):
            self.assertEqual(self.redaction.text(f"a{secret}b {secret}"), f"a{HIDDEN}b {HIDDEN}")
        for text in ("user ann in /data", "what-is-this"):
            self.assertEqual(self.redaction.text(text), text)

    def test_unknown(self) -> None:
        """Values of names of secrets are hidden; the names stay."""
        for text in (
            "password=XXXX rest",
            'sasl.password: "XXXX YYYY" rest',
            "{'client_secret': 'XXXX'}",
            '{"token": "XXXX", "other": 1}',
            "Authorization: Bearer XXXX",
            "authorization: basic XXXX",
            "https://ann:XXXX@host/path",
            "salt=XXXX,stored_key=XXXX,server_key=XXXX,iterations=4096",
            "--api-key=XXXX",
            "eyJXXXXXXXXXX.eyJ.sig",
        ):
            found = self.redaction.text(text)
            self.assertNotIn("XXXX", found, text)
            self.assertIn(HIDDEN, found)
        self.assertIn("iterations=4096", self.redaction.text("salt=x,iterations=4096"))

    def test_keys(self) -> None:
        """Private keys in PEM are hidden, also a cut one; certificates are not."""
        issued = make_authority("a")
        pem = issued.keystore_pem().decode()
        found = self.redaction.text(pem)
        self.assertNotIn("PRIVATE KEY", found)
        self.assertIn("BEGIN CERTIFICATE", found)
        start = pem.index("-----BEGIN PRIVATE") if "BEGIN PRIVATE" in pem else pem.index("-----BEGIN")
        self.assertNotIn(pem[start + 40 : start + 60], self.redaction.text(pem[start : start + 100]))

    def test_harmless(self) -> None:
        """Texts without secrets stay as they are."""
        for text in (
            "kafkatx is ready: broker 0 at 127.0.0.1:9092",
            '{"name": "ssl.keystore.location", "value": "/etc/keystore.pem"}',
            "a token was refused",
            "t=1,u=2",
        ):
            self.assertEqual(self.redaction.text(text), text)

    def test_settings(self) -> None:
        """Settings that a table knows are shown; secrets and unknown ones are hidden."""
        self.assertEqual(
            self.redaction.settings(SETTINGS),
            {
                "ssl.keystore.password": HIDDEN,
                "listener.name.sasl.plain.sasl.jaas.config": HIDDEN,
                "log.dirs": "/data",
                "my.unknown": HIDDEN,
                "my.secret": HIDDEN,
            },
        )
        for name in (
            "port",
            "num.io.threads",
            "mirror.dc1.bootstrap.servers",
            "listener.name.x.max.connections",
        ):
            self.assertTrue(is_public(name), name)
        for name in ("mirror.dc1.sasl.jaas.config", "delegation.token.master.key", "x.token"):
            self.assertFalse(is_public(name), name)

    def test_secrets_of(self) -> None:
        """The whole value and the password inside it are secrets; the user name is none."""
        self.assertEqual(secrets_of({"sasl.jaas.config": JAAS}), {JAAS, "s3cret-ann"})
        self.assertEqual(secrets_of({"log.dirs": "/data", "ssl.key.password": ""}), set())

    def test_hostile_text(self) -> None:
        """A long text without spaces, full of names of secrets, takes time in proportion to its length."""
        for text in ("a" * 2_000_000, "password" * 100_000, "token " * 200_000, "://" * 300_000):
            self.assertEqual(self.redaction.text(text), text)  # quadratic, it would take hours
