"""Private keys, certificate chains and trusted authorities from PEM, PKCS12 and JKS; the content tells which.

``keytool`` of Java 9 and later writes PKCS12 even into a file called ``x.jks``, so neither the name nor
``ssl.keystore.type`` says anything.
"""

from __future__ import annotations

import attrs
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    load_der_private_key,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from kafkatx.tls import jks

_JCEKS = b"\xce\xce\xce\xce"
_SEQUENCE = b"\x30"
_BEGIN = b"-----BEGIN "
CONVERT = "convert it: keytool -importkeystore -srckeystore OLD -destkeystore NEW -deststoretype PKCS12"


class KeystoreError(ValueError):
    """A keystore cannot be read; the message continues a sentence about its file."""


@attrs.frozen
class Identity:
    """A private key, and its certificate chain, the key's own certificate first."""

    key: PrivateKeyTypes = attrs.field(repr=False)
    chain: tuple[x509.Certificate, ...]

    @property
    def certificate(self) -> x509.Certificate:
        """The key's own certificate."""
        return self.chain[0]


def read_identity(data: bytes, password: str | None, key_password: str | None) -> Identity:
    """Read a private key and its chain.

    :param password: of the keystore.
    :param key_password: of the key, if it differs.
    :raises KeystoreError: there is none, a password is missing or wrong, or the key does not fit.
    """
    key_password = password if key_password is None else key_password
    try:
        if data.startswith(jks.MAGIC):
            identity = _jks_identity(data, password, key_password or "")
        elif _kind(data) == "PEM":
            identity = pem_identity(data, data, key_password)
        else:
            identity = _pkcs12_identity(data, password)
    except KeystoreError:
        raise
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeystoreError(f"cannot be read: {_reason(error)}") from error
    return _checked(identity)


def pem_identity(key: bytes, chain: bytes, password: str | None) -> Identity:
    """Read a key and a chain of PEM.

    :raises KeystoreError: as :func:`read_identity`.
    """
    try:
        loaded = _pem_key(key, password)
        certificates = x509.load_pem_x509_certificates(chain)
    except KeystoreError:
        raise
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeystoreError(f"cannot be read: {_reason(error)}") from error
    return _checked(Identity(loaded, tuple(certificates)))


def read_trusted(data: bytes, password: str | None) -> tuple[x509.Certificate, ...]:
    """Read trusted certificates.

    :raises KeystoreError: there are none, or the password is missing or wrong.
    """
    try:
        if data.startswith(jks.MAGIC):
            found = [x509.load_der_x509_certificate(one) for one in jks.read_jks(data, password).trusted]
        elif _kind(data) == "PEM":
            found = x509.load_pem_x509_certificates(data)
        else:
            store = load_pkcs12(data, _octets(password))
            found = [one.certificate for one in store.additional_certs]
    except KeystoreError:
        raise
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeystoreError(f"cannot be read: {_reason(error)}") from error
    if not found:
        raise KeystoreError("has no trusted certificates")
    return tuple(found)


def _kind(data: bytes) -> str:
    """Return PEM or PKCS12.

    :raises KeystoreError: it is neither.
    """
    if _BEGIN in data:
        return "PEM"
    if data.startswith(_SEQUENCE):
        return "PKCS12"
    if data.startswith(_JCEKS):
        raise KeystoreError(f"is a JCEKS keystore, which is not supported; {CONVERT}")
    raise KeystoreError(f"is neither PEM nor PKCS12 nor JKS; {CONVERT}")


def _jks_identity(data: bytes, password: str | None, key_password: str) -> Identity:
    keys = jks.read_jks(data, password).keys
    if not keys:
        raise KeystoreError("has no private key")
    chain = tuple(map(x509.load_der_x509_certificate, keys[0].chain))
    return Identity(load_der_private_key(keys[0].key(key_password), None), chain)


def _pkcs12_identity(data: bytes, password: str | None) -> Identity:
    store = load_pkcs12(data, _octets(password))
    if store.key is None or store.cert is None:
        raise KeystoreError("has no private key with a certificate")
    more = [one.certificate for one in store.additional_certs]
    return Identity(store.key, (store.cert.certificate, *more))


def _checked(identity: Identity) -> Identity:
    """Return an identity whose key fits its certificate.

    :raises KeystoreError: it does not.
    """
    if not identity.chain or identity.certificate.public_key() != identity.key.public_key():
        raise KeystoreError("has a private key that does not fit its first certificate")
    return identity


def _block(pem: bytes, kind: bytes) -> bytes:
    """Return the first block of PEM text whose name ends with *kind*."""
    for piece in pem.split(_BEGIN)[1:]:
        if piece.partition(b"-----")[0].endswith(kind):
            return _BEGIN + piece
    raise KeystoreError("has no private key")


def _pem_key(pem: bytes, password: str | None) -> PrivateKeyTypes:
    """Return the key of PEM text.

    :raises KeystoreError: there is none, or the password is missing or wrong. About one wrong password of 256
        decrypts a key to bytes that end like one: the library only says of these that they are no key.
    """
    block = _block(pem, b"PRIVATE KEY")
    if b"ENCRYPTED" not in block:
        return load_pem_private_key(block, None)
    try:
        return load_pem_private_key(block, _octets(password))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeystoreError("cannot be read: the password is missing or wrong") from error


def _octets(password: str | None) -> bytes | None:
    return None if password is None else password.encode()


def _reason(error: Exception) -> str:
    """Return the reason, without what an error may quote of the content."""
    text = str(error).partition("\n")[0]
    if isinstance(error, jks.JksError):
        return text
    if isinstance(error, TypeError) or "password" in text.lower():
        return "the password is missing or wrong"
    return text[:200] or type(error).__name__
