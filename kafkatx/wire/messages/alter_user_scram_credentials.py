"""AlterUserScramCredentials (key 51), version 0: set and delete SCRAM credentials of users (KIP-554).

The client sends the salted password (RFC 5802), not the password. A mechanism is 1 for SCRAM-SHA-256 and 2
for SCRAM-SHA-512.
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BYTES,
    INT8,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class ScramCredentialDeletion(Struct):
    """A credential to delete."""

    name: str = field(STRING)
    mechanism: int = field(INT8)


class ScramCredentialUpsertion(Struct):
    """A credential to set."""

    name: str = field(STRING)
    mechanism: int = field(INT8)
    iterations: int = field(INT32)
    salt: bytes = field(BYTES)
    salted_password: bytes = field(BYTES)


class AlterUserScramCredentialsRequest(Message, key=51, versions=(0, 0), flexible=0):
    """Set and delete credentials."""

    deletions: list[ScramCredentialDeletion] = field(array(ScramCredentialDeletion))
    upsertions: list[ScramCredentialUpsertion] = field(array(ScramCredentialUpsertion))


class AlterUserScramCredentialsResult(Struct):
    """The result for one user."""

    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))


class AlterUserScramCredentialsResponse(Message, key=51, versions=(0, 0), flexible=0):
    """The results."""

    throttle_time_ms: int = field(INT32)
    results: list[AlterUserScramCredentialsResult] = field(array(AlterUserScramCredentialsResult))
