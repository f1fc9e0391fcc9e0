"""Contexts of the blocking client."""

from __future__ import annotations

import os
import ssl
import tempfile

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.tls.authority import issue, make_authority
from kafkatx.tls.ciphers import SECURE
from kafkatx.tls.keystore import read_identity
from kafkatx.tls.plain_socket import client_context
from kafkatx.tls.settings import TlsSettings

AUTHORITY = make_authority("tests")


class ContextTests(SynchronousTestCase):
    def test_context(self) -> None:
        """Versions, trust and the check of the host are as set; the key leaves no file behind."""
        directory = self.mktemp()
        os.mkdir(directory)
        self.patch(tempfile, "tempdir", os.path.abspath(directory))
        identity = read_identity(issue(AUTHORITY, "alice").keystore_pem(), None, None)
        settings = TlsSettings(identity, (AUTHORITY.certificate,), ("TLSv1.3",), SECURE, False)
        context = client_context(settings)
        self.assertEqual(context.minimum_version, ssl.TLSVersion.TLSv1_3)
        self.assertEqual((context.check_hostname, context.verify_mode), (False, ssl.CERT_REQUIRED))
        self.assertEqual(len(context.get_ca_certs()), 1)
        self.assertEqual(os.listdir(directory), [])
