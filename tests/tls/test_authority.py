"""An authority of one's own, checked by OpenSSL's command."""

from __future__ import annotations

import shutil
import subprocess
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.tls.authority import issue, make_authority


class AuthorityTests(SynchronousTestCase):
    def verify(self, issued: bytes, *options: str) -> bool:
        """Return True if OpenSSL accepts a certificate of the authority."""
        openssl = shutil.which("openssl")
        if openssl is None:
            raise SkipTest("there is no openssl")
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(issued)
        done = subprocess.run(
            [openssl, "verify", "-x509_strict", "-CAfile", self.ca, *options, path], capture_output=True
        )
        return done.returncode == 0

    def setUp(self) -> None:
        """An authority in a file."""
        self.authority = make_authority("tests")
        self.ca = self.mktemp()
        with open(self.ca, "wb") as file:
            file.write(self.authority.certificate_pem)

    def test_broker(self) -> None:
        """A broker's certificate is for its hosts, as server and as client."""
        made = issue(self.authority, "b", ("b.example", "10.0.0.7", "::1")).certificate_pem
        for purpose in ("sslserver", "sslclient"):
            self.assertTrue(self.verify(made, "-purpose", purpose, "-verify_hostname", "b.example"))
        self.assertTrue(self.verify(made, "-verify_ip", "10.0.0.7"))
        self.assertTrue(self.verify(made, "-verify_ip", "::1"))
        self.assertFalse(self.verify(made, "-verify_hostname", "c.example"))

    def test_user(self) -> None:
        """A user's certificate is no server's."""
        made = issue(self.authority, "alice").certificate_pem
        self.assertTrue(self.verify(made, "-purpose", "sslclient"))
        self.assertFalse(self.verify(made, "-purpose", "sslserver"))

    def test_secret(self) -> None:
        """The key is not shown."""
        self.assertNotIn("PrivateKey", repr(self.authority))
