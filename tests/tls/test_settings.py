"""TLS settings: the files that they name."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.tls.authority import issue, make_authority
from kafkatx.tls.settings import TlsSettings, files_of, load_tls

AUTHORITY = make_authority("tests")
BROKER = issue(AUTHORITY, "broker", ("localhost",))


def load(values: dict[str, str]) -> TlsSettings:
    """Return the settings of the listener A."""
    return load_tls(BrokerConfig.load(None, values).of_listener("A"))


class SettingsTests(SynchronousTestCase):
    def write(self, data: bytes) -> str:
        """Write a file; return its path."""
        path = str(self.mktemp())
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_files(self) -> None:
        """Keystore and truststore are read; a listener's own ones come first."""
        path = self.write(BROKER.keystore_pem())
        settings = load(
            {
                "ssl.keystore.location": "/nowhere",
                "listener.name.a.ssl.keystore.location": path,
                "ssl.truststore.location": self.write(AUTHORITY.certificate_pem),
            }
        )
        assert settings.identity is not None
        self.assertEqual(settings.identity.certificate, BROKER.certificate)
        self.assertEqual(settings.trusted, (AUTHORITY.certificate,))
        self.assertTrue(settings.checks_host)

    def test_text(self) -> None:
        """Keys and certificates may be in the settings themselves."""
        settings = load(
            {
                "ssl.keystore.key": BROKER.key_pem().decode(),
                "ssl.keystore.certificate.chain": BROKER.certificate_pem.decode(),
                "ssl.truststore.certificates": AUTHORITY.certificate_pem.decode(),
                "ssl.endpoint.identification.algorithm": "",
            }
        )
        assert settings.identity is not None
        self.assertEqual(settings.identity.certificate, BROKER.certificate)
        self.assertEqual((settings.trusted, settings.checks_host), ((AUTHORITY.certificate,), False))

    def test_refused(self) -> None:
        """Files that cannot be used are refused by the setting that names them, without any secret."""
        encrypted = self.write(BROKER.pkcs12("broker", b"secret"))
        for values, text in (
            ({"ssl.keystore.location": "/nowhere"}, "ssl.keystore.location=/nowhere: it cannot be read"),
            (
                {"ssl.keystore.location": encrypted, "ssl.keystore.password": "guess"},
                "password is missing or",
            ),
            ({"ssl.keystore.key": "k"}, "belong together"),
            ({"ssl.truststore.certificates": "nonsense"}, "ssl.truststore.certificates: it is neither"),
            ({"ssl.cipher.suites": "NULL"}, "ssl.cipher.suites=NULL"),
        ):
            error = str(self.assertRaises(SettingError, load, values))
            self.assertIn(text, error)
            self.assertNotIn("guess", error)

    def test_changed(self) -> None:
        """A file that is written again is seen to have changed; one that is not there is left out."""
        path = self.write(b"a")
        config = BrokerConfig.load(
            None, {"ssl.keystore.location": path, "ssl.truststore.location": "/nowhere"}
        ).of_listener("A")
        before = files_of(config)
        self.assertEqual([name for name, _, _ in before], [path])
        with open(path, "wb") as file:
            file.write(b"bb")
        self.assertNotEqual(files_of(config), before)
