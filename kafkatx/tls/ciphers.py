"""Cipher suites of TLS 1.2 under the names of Java and of OpenSSL. Pure.

``TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384`` is OpenSSL's ``ECDHE-ECDSA-AES256-GCM-SHA384``. Only suites with
forward secrecy and authenticated encryption are here.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkatx.errors import SettingError

_KEY_EXCHANGES = ("ECDHE_ECDSA", "ECDHE_RSA", "DHE_RSA")
_CIPHERS = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
}
OPENSSL_NAMES = {
    f"TLS_{exchange}_WITH_{cipher}": f"{exchange.replace('_', '-')}-{name}"
    for exchange in _KEY_EXCHANGES
    for cipher, name in _CIPHERS.items()
}
"""OpenSSL's names by Java's."""

TLS_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Suites of TLS 1.3, which always has all of them."""

SECURE = ":".join(OPENSSL_NAMES.values())
"""OpenSSL's list of all suites above."""


def openssl_list(names: Sequence[str]) -> str:
    """Return OpenSSL's list of suites of TLS 1.2; for no names, of all secure ones.

    :raises SettingError: a name is unknown, or is of a suite that is not secure.
    """
    known = {**OPENSSL_NAMES, **{name: name for name in OPENSSL_NAMES.values()}}
    chosen = []
    for name in names:
        if name in TLS_1_3:
            continue
        if name not in known:
            raise SettingError(
                f"ssl.cipher.suites={name}: it is unknown, or not secure; use some of"
                f" {', '.join(OPENSSL_NAMES)}"
            )
        chosen.append(known[name])
    return ":".join(chosen) or SECURE
