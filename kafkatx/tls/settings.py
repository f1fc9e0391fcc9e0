"""The keys and certificates of one end of TLS connections. Reads the files that settings name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

import attrs
from cryptography import x509

from kafkatx.config.table.row import Setting
from kafkatx.config.table.security import tls as t
from kafkatx.errors import SettingError
from kafkatx.tls.ciphers import openssl_list
from kafkatx.tls.keystore import Identity, KeystoreError, pem_identity, read_identity, read_trusted

T = TypeVar("T")

Files: TypeAlias = tuple[tuple[str, int, int], ...]
"""Name, time of the last change and size of files."""


class Values(Protocol):
    """The values of settings, of a listener or of a client."""

    def __getitem__(self, setting: Setting[T], /) -> T:
        """Return the value of a setting."""


@attrs.frozen
class TlsSettings:
    """Keys, trusted certificates, versions and cipher suites.

    :ivar identity: the private key and its chain; None: none, as of most clients.
    :ivar trusted: trusted authorities; None: a client trusts the system's.
    :ivar protocols: ``TLSv1.2`` and ``TLSv1.3``.
    :ivar ciphers: OpenSSL's list of suites of TLS 1.2.
    :ivar checks_host: True if a certificate has to be for the host that a client connects to.
    """

    identity: Identity | None
    trusted: tuple[x509.Certificate, ...] | None
    protocols: tuple[str, ...]
    ciphers: str
    checks_host: bool


def load_tls(values: Values) -> TlsSettings:
    """Read the keystore and the truststore that settings name.

    :raises SettingError: a file cannot be read, or settings contradict each other.
    """
    return TlsSettings(
        _identity(values),
        _trusted(values),
        values[t.SSL_ENABLED_PROTOCOLS],
        openssl_list(values[t.SSL_CIPHER_SUITES]),
        values[t.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM] == "https",
    )


def files_of(values: Values) -> Files:
    """Return the files that settings name, as far as they are there, to see if one has changed."""
    found = []
    for setting in (t.SSL_KEYSTORE_LOCATION, t.SSL_TRUSTSTORE_LOCATION):
        path = values[setting]
        if path is None:
            continue
        try:
            status = os.stat(path)
        except OSError:
            continue
        found.append((path, status.st_mtime_ns, status.st_size))
    return tuple(found)


def _identity(values: Values) -> Identity | None:
    key, chain = values[t.SSL_KEYSTORE_KEY], values[t.SSL_KEYSTORE_CERTIFICATE_CHAIN]
    path, password = values[t.SSL_KEYSTORE_LOCATION], values[t.SSL_KEY_PASSWORD]
    if (key is None) != (chain is None):
        raise SettingError(
            f"{t.SSL_KEYSTORE_KEY.name} and {t.SSL_KEYSTORE_CERTIFICATE_CHAIN.name} belong together: set both"
        )
    if key is not None and chain is not None:
        if path is not None:
            raise SettingError(
                f"{t.SSL_KEYSTORE_LOCATION.name}={path}: {t.SSL_KEYSTORE_KEY.name} is set, too; remove one"
            )
        return _parsed(t.SSL_KEYSTORE_KEY.name, lambda: pem_identity(_lines(key), _lines(chain), password))
    if path is None:
        return None
    where, data = f"{t.SSL_KEYSTORE_LOCATION.name}={path}", _read(t.SSL_KEYSTORE_LOCATION, path)
    return _parsed(where, lambda: read_identity(data, values[t.SSL_KEYSTORE_PASSWORD], password))


def _trusted(values: Values) -> tuple[x509.Certificate, ...] | None:
    text, path = values[t.SSL_TRUSTSTORE_CERTIFICATES], values[t.SSL_TRUSTSTORE_LOCATION]
    if text is not None:
        return _parsed(t.SSL_TRUSTSTORE_CERTIFICATES.name, lambda: read_trusted(_lines(text), None))
    if path is None:
        return None
    where, data = f"{t.SSL_TRUSTSTORE_LOCATION.name}={path}", _read(t.SSL_TRUSTSTORE_LOCATION, path)
    return _parsed(where, lambda: read_trusted(data, values[t.SSL_TRUSTSTORE_PASSWORD]))


def _lines(pem: str) -> bytes:
    """Return PEM text; Java's properties files may have it in one line, with spaces in place of newlines."""
    return pem.replace("\\n", "\n").encode()


def _read(setting: Setting[str | None], path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise SettingError(f"{setting.name}={path}: it cannot be read: {error.strerror}") from None


def _parsed(where: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except KeystoreError as error:
        raise SettingError(f"{where}: it {error}") from None
