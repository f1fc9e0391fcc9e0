"""Keystores of Java's old format, as keytool writes them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.tls.jks import MAGIC, JksError, read_jks
from kafkatx.tls.keystore import KeystoreError, read_identity, read_trusted


class JksTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A keystore of keytool, whose key has a password of its own."""
        keytool = shutil.which("keytool")
        if keytool is None:
            raise SkipTest("there is no keytool")
        self.path = self.mktemp()
        made = subprocess.run(
            [
                *(keytool, "-genkeypair", "-storetype", "JKS", "-keystore", self.path, "-alias", "broker"),
                *("-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=broker, O=Example"),
                *("-storepass", "storepass", "-keypass", "keypass1"),
            ],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise SkipTest(made.stderr)
        with open(self.path, "rb") as file:
            self.data = file.read()
        self.assertTrue(self.data.startswith(MAGIC))

    def test_key(self) -> None:
        """The key fits its certificate; it has its own password."""
        identity = read_identity(self.data, "storepass", "keypass1")
        self.assertEqual(identity.certificate.subject.rfc4514_string(), "CN=broker,O=Example")
        error = self.assertRaises(KeystoreError, read_identity, self.data, "storepass", None)
        self.assertIn("ssl.key.password", str(error))

    def test_wrong_password(self) -> None:
        """A wrong password is told apart from a missing truststore, and never quoted."""
        error = self.assertRaises(KeystoreError, read_identity, self.data, "secret-guess", None)
        self.assertIn("the password is", str(error))
        self.assertNotIn("secret-guess", str(error))
        self.assertIn(
            "no trusted", str(self.assertRaises(KeystoreError, read_trusted, self.data, "storepass"))
        )

    def test_no_password(self) -> None:
        """Without a password the digest is not checked; a keystore that is cut off is still refused."""
        self.assertEqual(read_jks(self.data, None), read_jks(self.data, "storepass"))
        self.assertEqual(len(read_identity(self.data, None, "keypass1").chain), 1)
        certificate = read_jks(self.data, None).keys[0].chain[0]
        parts = struct.pack(">4sIII", MAGIC, 2, 1, 2), b"\0\1a", bytes(8), b"\0\5X.509"
        truststore = b"".join((*parts, struct.pack(">I", len(certificate)), certificate, bytes(20)))
        (trusted,) = read_trusted(truststore, None)
        self.assertEqual(trusted.subject.rfc4514_string(), "CN=broker,O=Example")
        self.assertRaises(KeystoreError, read_trusted, truststore, "guess")
        for size in range(4, len(self.data) - 20, 37):
            self.assertRaises(JksError, read_jks, self.data[:size], None)

    def test_every_cut_and_flip(self) -> None:
        """A keystore that is cut off, or has a wrong bit, is refused."""
        for size in range(4, len(self.data), 37):
            self.assertRaises(JksError, read_jks, self.data[:size], "storepass")
            flipped = bytearray(self.data)
            flipped[size] ^= 1
            self.assertRaises(JksError, read_jks, bytes(flipped), "storepass")
