"""Keystores of Java in its own old format, JKS. Pure.

All numbers are big-endian. ``FEEDFEED``, version u32 (1 or 2), number of entries u32; then for each entry a
tag u32 (1: a private key, 2: a certificate), the alias (u16 length, text) and the time in ms u64. A private
key has its encrypted bytes (u32 length, PKCS#8 EncryptedPrivateKeyInfo) and a chain (u32 number of
certificates). A certificate has its type (text, from version 2 on) and its bytes (u32 length). At the end is
the SHA-1 digest of the password (UTF-16), ``Mighty Aphrodite`` and all bytes before.

The key cipher (1.3.6.1.4.1.42.2.17.1.1): salt of 20 bytes, data, check of 20 bytes. The data is XORed with
SHA-1(password, salt), then SHA-1(password, last digest) and so on; the check is SHA-1(password, plain key).
"""

from __future__ import annotations

import hashlib
import hmac
import struct

import attrs

MAGIC = b"\xfe\xed\xfe\xed"

_PRIVATE_KEY, _CERTIFICATE = 1, 2
_CIPHER = bytes.fromhex("060a2b060104012a02110101")  # the object identifier
_DIGEST_BYTES = 20


class JksError(ValueError):
    """The keystore cannot be read, or a password is wrong."""


@attrs.frozen
class KeyEntry:
    """A private key and its chain.

    :ivar chain: certificates as DER, the key's own first.
    """

    alias: str
    encrypted: bytes = attrs.field(repr=False)
    chain: tuple[bytes, ...] = attrs.field(repr=False)

    def key(self, password: str) -> bytes:
        """Return the private key as PKCS#8, DER.

        :raises JksError: the password is wrong.
        """
        octets = password.encode("utf-16-be")
        sealed = _octet_string(self.encrypted)
        salt, data, check = sealed[:20], sealed[20:-20], sealed[-20:]
        stream, last = bytearray(), salt
        while len(stream) < len(data):
            last = hashlib.sha1(octets + last).digest()
            stream += last
        plain = bytes(a ^ b for a, b in zip(data, stream, strict=False))
        if not hmac.compare_digest(hashlib.sha1(octets + plain).digest(), check):
            raise JksError("the password of its private key is wrong (ssl.key.password)")
        return plain


@attrs.frozen
class Jks:
    """The content of a keystore; trusted certificates are DER."""

    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]


def read_jks(data: bytes, password: str | None) -> Jks:
    """Read a keystore.

    :param password: None: the digest is not checked, as by Java. Certificates need no password to be read.
    :raises JksError: it is damaged, or the password is wrong.
    """
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if password is not None:
        seal = hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
        if not hmac.compare_digest(seal, digest):
            raise JksError("the password is wrong, or it is damaged")
    try:
        return _entries(_Reader(body))
    except (struct.error, UnicodeDecodeError) as error:
        raise JksError("it is damaged") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 4  # after the magic number

    def number(self) -> int:
        (value,) = struct.unpack_from(">I", self._data, self._at)
        self._at += 4
        return int(value)

    def octets(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise JksError("it is cut off")
        piece, self._at = self._data[self._at : end], end
        return piece

    def text(self) -> str:
        (size,) = struct.unpack(">H", self.octets(2))
        return self.octets(size).decode()


def _entries(reader: _Reader) -> Jks:
    version = reader.number()
    if version not in (1, 2):
        raise JksError(f"its version {version} is unknown")
    keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(reader.number()):
        tag, alias = reader.number(), reader.text()
        reader.octets(8)  # the time of its making
        if tag == _PRIVATE_KEY:
            encrypted = reader.octets(reader.number())
            chain = tuple(_certificate(reader, version) for _ in range(reader.number()))
            keys.append(KeyEntry(alias, encrypted, chain))
        elif tag == _CERTIFICATE:
            trusted.append(_certificate(reader, version))
        else:
            raise JksError(f"the entry {alias} has the unknown tag {tag}")
    return Jks(tuple(keys), tuple(trusted))


def _certificate(reader: _Reader, version: int) -> bytes:
    if version == 2 and reader.text() != "X.509":
        raise JksError("it has a certificate that is not X.509")
    return reader.octets(reader.number())


def _octet_string(info: bytes) -> bytes:
    """Return the encrypted bytes: SEQUENCE {SEQUENCE {OID, ...}, OCTET STRING}."""
    start, _end = _element(info, 0, 0x30)
    inner, end = _element(info, start, 0x30)
    if not info.startswith(_CIPHER, inner):
        raise JksError("its private key is encrypted in an unknown way")
    start, end = _element(info, end, 0x04)
    if end - start < 2 * _DIGEST_BYTES:
        raise JksError("its private key is cut off")
    return info[start:end]


def _element(data: bytes, at: int, tag: int) -> tuple[int, int]:
    """Return start and end of the content of a DER element."""
    if at + 2 > len(data) or data[at] != tag:
        raise JksError("its private key is damaged")
    size, start = data[at + 1], at + 2
    if size >= 0x80:
        many = size & 0x7F
        size, start = int.from_bytes(data[start : start + many], "big"), start + many
    if start + size > len(data):
        raise JksError("its private key is cut off")
    return start, start + size
