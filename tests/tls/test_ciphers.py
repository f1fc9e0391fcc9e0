"""Cipher suites by Java's names."""

from __future__ import annotations

import ssl

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.tls.ciphers import OPENSSL_NAMES, SECURE, TLS_1_3, openssl_list


class CipherTests(SynchronousTestCase):
    def test_known_to_openssl(self) -> None:
        """OpenSSL knows each suite by the name that we use."""
        for name in OPENSSL_NAMES.values():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.set_ciphers(name)
            self.assertIn(name, [cipher["name"] for cipher in context.get_ciphers()])

    def test_list(self) -> None:
        """Names of Java and of OpenSSL are taken; suites of TLS 1.3 are always there; others are refused."""
        java = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
        self.assertEqual(openssl_list([java]), "ECDHE-RSA-AES128-GCM-SHA256")
        self.assertEqual(openssl_list(["DHE-RSA-CHACHA20-POLY1305"]), "DHE-RSA-CHACHA20-POLY1305")
        self.assertEqual(openssl_list([]), SECURE)
        self.assertEqual(openssl_list(TLS_1_3), SECURE)
        for name in ("TLS_RSA_WITH_AES_128_CBC_SHA", "NULL", "ALL"):
            self.assertRaises(SettingError, openssl_list, [name])
