"""Keys and certificates in PEM and PKCS12."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.tls import keystore
from kafkatx.tls.authority import issue, make_authority
from kafkatx.tls.keystore import KeystoreError, pem_identity, read_identity, read_trusted

AUTHORITY = make_authority("tests")
BROKER = issue(AUTHORITY, "broker", ("localhost",))


class KeystoreTests(SynchronousTestCase):
    def test_pem(self) -> None:
        """A PEM file has the key and its chain, in any order of the blocks."""
        for data in (BROKER.keystore_pem(), BROKER.certificate_pem + BROKER.key_pem()):
            self.assertEqual(read_identity(data, None, None).chain, (BROKER.certificate,))

    def test_encrypted_pem(self) -> None:
        """An encrypted key needs its password; that of the keystore will do."""
        data = BROKER.key_pem(b"secret") + BROKER.certificate_pem
        self.assertEqual(read_identity(data, "secret", None).certificate, BROKER.certificate)
        for password in (None, "wrong"):
            error = self.assertRaises(KeystoreError, read_identity, data, password, None)
            self.assertIn("password is missing or wrong", str(error))

    def test_unlucky_password(self) -> None:
        """A wrong password that decrypts the key to something is told as a wrong one."""

        def load(*_: object) -> None:
            raise ValueError("Could not deserialize key data.")

        data = BROKER.key_pem(b"secret") + BROKER.certificate_pem
        self.patch(keystore, "load_pem_private_key", load)
        error = self.assertRaises(KeystoreError, read_identity, data, "unlucky", None)
        self.assertIn("password is missing or wrong", str(error))

    def test_pkcs12(self) -> None:
        """A PKCS12 keystore has the chain with the authority; a wrong password is refused."""
        data = BROKER.pkcs12("broker", b"secret")
        self.assertEqual(
            read_identity(data, "secret", None).chain, (BROKER.certificate, AUTHORITY.certificate)
        )
        self.assertRaises(KeystoreError, read_identity, data, "wrong", None)
        self.assertEqual(read_trusted(data, "secret"), (AUTHORITY.certificate,))

    def test_foreign_key(self) -> None:
        """A key that does not fit the certificate is refused."""
        data = AUTHORITY.key_pem() + BROKER.certificate_pem
        error = self.assertRaises(KeystoreError, read_identity, data, None, None)
        self.assertIn("does not fit", str(error))
        self.assertRaises(KeystoreError, pem_identity, BROKER.certificate_pem, BROKER.certificate_pem, None)

    def test_other_kinds(self) -> None:
        """Other files are refused with the command that converts a keystore."""
        for data in (b"nonsense", b"", b"\xce\xce\xce\xce"):
            errors = (
                self.assertRaises(KeystoreError, read_identity, data, None, None),
                self.assertRaises(KeystoreError, read_trusted, data, None),
            )
            for error in errors:
                self.assertIn("keytool -importkeystore", str(error))

    def test_trusted(self) -> None:
        """A PEM file may have several authorities."""
        other = make_authority("other")
        data = AUTHORITY.certificate_pem + other.certificate_pem
        self.assertEqual(read_trusted(data, None), (AUTHORITY.certificate, other.certificate))

    def test_secret(self) -> None:
        """The key is shown nowhere."""
        self.assertNotIn("key", repr(read_identity(BROKER.keystore_pem(), None, None)).partition("chain")[0])
