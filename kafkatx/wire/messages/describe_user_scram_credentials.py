"""DescribeUserScramCredentials (key 50), version 0: the SCRAM mechanisms of users (KIP-554).

A mechanism is 1 for SCRAM-SHA-256 and 2 for SCRAM-SHA-512.
"""

from __future__ import annotations

from kafkatx.wire.schema import INT8, INT16, INT32, STRING, Message, Struct, array, field, nullable


class UserName(Struct):
    """A user to describe."""

    name: str = field(STRING)


class DescribeUserScramCredentialsRequest(Message, key=50, versions=(0, 0), flexible=0):
    """Describe some users; null or none: all."""

    users: list[UserName] | None = field(nullable(array(UserName)))


class CredentialInfo(Struct):
    """A credential, without its secrets."""

    mechanism: int = field(INT8)
    iterations: int = field(INT32)


class DescribeUserScramCredentialsResult(Struct):
    """The credentials of a user."""

    user: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    credential_infos: list[CredentialInfo] = field(array(CredentialInfo))


class DescribeUserScramCredentialsResponse(Message, key=50, versions=(0, 0), flexible=0):
    """The users."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    results: list[DescribeUserScramCredentialsResult] = field(array(DescribeUserScramCredentialsResult))
