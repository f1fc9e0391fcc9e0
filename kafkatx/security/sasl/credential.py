"""The credentials of SCRAM (RFC 5802, RFC 7677): a server's part of a password, and Kafka's text of it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from types import MappingProxyType

import attrs

from kafkatx.security.sasl.errors import SaslError


@attrs.frozen
class ScramMechanism:
    """A SCRAM mechanism.

    :ivar number: as DescribeUserScramCredentials has it (``org.apache.kafka.clients.admin.ScramMechanism``).
    """

    name: str
    number: int
    hash_name: str

    def digest(self, data: bytes) -> bytes:
        """Return H(data)."""
        return hashlib.new(self.hash_name, data).digest()

    def hmac(self, key: bytes, data: bytes) -> bytes:
        """Return HMAC(key, data)."""
        return hmac.digest(key, data, self.hash_name)

    def salted_password(self, password: str, salt: bytes, iterations: int) -> bytes:
        """Return Hi(password, salt, iterations). As Apache Kafka, it applies no SASLprep."""
        return hashlib.pbkdf2_hmac(self.hash_name, password.encode(), salt, iterations)


MECHANISMS: Mapping[str, ScramMechanism] = MappingProxyType(
    {
        one.name: one
        for one in (
            ScramMechanism("SCRAM-SHA-256", 1, "sha256"),
            ScramMechanism("SCRAM-SHA-512", 2, "sha512"),
        )
    }
)
"""The mechanisms by name."""

BY_NUMBER: Mapping[int, ScramMechanism] = MappingProxyType({one.number: one for one in MECHANISMS.values()})

MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16_384
"""Bounds of Apache Kafka for stored credentials."""


@attrs.frozen
class ScramCredential:
    """The keys and the salt that a server keeps of a password; they do not tell it."""

    salt: bytes
    iterations: int
    stored_key: bytes = attrs.field(repr=False)
    server_key: bytes = attrs.field(repr=False)

    @classmethod
    def of_salted(
        cls, mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
    ) -> ScramCredential:
        """Derive the keys from a salted password."""
        client_key = mechanism.hmac(salted_password, b"Client Key")
        server_key = mechanism.hmac(salted_password, b"Server Key")
        return cls(salt, iterations, mechanism.digest(client_key), server_key)

    @classmethod
    def of_password(
        cls, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> ScramCredential:
        """Derive the keys from a password; this takes milliseconds."""
        return cls.of_salted(
            mechanism, mechanism.salted_password(password, salt, iterations), salt, iterations
        )

    def matches(self, mechanism: ScramMechanism, password: str) -> bool:
        """Return True if the password is this one; this takes milliseconds."""
        other = ScramCredential.of_password(mechanism, password, self.salt, self.iterations)
        return hmac.compare_digest(other.stored_key, self.stored_key)

    def __str__(self) -> str:
        """Return the text that Apache Kafka keeps in ZooKeeper (``ScramCredentialUtils``)."""
        return ",".join(
            (
                f"salt={encode64(self.salt)}",
                f"stored_key={encode64(self.stored_key)}",
                f"server_key={encode64(self.server_key)}",
                f"iterations={self.iterations}",
            )
        )


def parse_credential(text: str) -> ScramCredential:
    """Read Kafka's text of a credential.

    :raises SaslError: it is malformed.
    """
    fields = dict(item.partition("=")[::2] for item in text.split(","))
    try:
        iterations = int(fields["iterations"])
        salt, stored_key, server_key = (
            decode64(fields[name]) for name in ("salt", "stored_key", "server_key")
        )
    except (KeyError, ValueError):
        raise SaslError("a stored SCRAM credential cannot be read") from None
    if iterations < 1:
        raise SaslError("a stored SCRAM credential has no iterations")
    return ScramCredential(salt, iterations, stored_key, server_key)


def encode64(data: bytes) -> str:
    """Return base64 without line breaks."""
    return base64.b64encode(data).decode("ascii")


def decode64(text: str) -> bytes:
    """Decode base64.

    :raises ValueError: it is not base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error
