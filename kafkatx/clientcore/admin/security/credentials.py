"""Describe- and AlterUserScramCredentials (KIP-554): requests, and values from replies. Pure."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import attrs

from kafkatx.clientcore.errors import check
from kafkatx.config.table.security.sasl import SASL_MECHANISM
from kafkatx.errors import SettingError
from kafkatx.security.sasl.credential import BY_NUMBER, MECHANISMS, ScramMechanism
from kafkatx.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkatx.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

DEFAULT_MECHANISM = "SCRAM-SHA-512"
DEFAULT_ITERATIONS = 8192
SALT_BYTES = 32


@attrs.frozen
class UserCredential:
    """A user's credential, without its secrets."""

    user: str
    mechanism: str
    iterations: int


def mechanism_of(name: str) -> ScramMechanism:
    """Return a mechanism.

    :raises SettingError: there is none with this name.
    """
    try:
        return MECHANISMS[name]
    except KeyError:
        raise SettingError(
            f"{SASL_MECHANISM.name}={name}: credentials are of {' or '.join(MECHANISMS)}"
        ) from None


def describe_request(users: Iterable[str] = ()) -> DescribeUserScramCredentialsRequest:
    """Return the request for the credentials of some users; without names, of all."""
    return DescribeUserScramCredentialsRequest([UserName(user) for user in users] or None)


def user_credentials(response: DescribeUserScramCredentialsResponse) -> list[UserCredential]:
    """Return the credentials, in order.

    :raises RequestError: RESOURCE_NOT_FOUND: a user has none; ...
    """
    check(response.error_code, "SCRAM credentials", response.error_message)
    found = []
    for result in response.results:
        check(result.error_code, f"user {result.user!r}", result.error_message)
        for info in result.credential_infos:
            mechanism = BY_NUMBER.get(info.mechanism)
            name = "unknown" if mechanism is None else mechanism.name
            found.append(UserCredential(result.user, name, info.iterations))
    return sorted(found, key=lambda one: (one.user, one.mechanism))


def set_request(
    user: str, password: str, mechanism: ScramMechanism, iterations: int = DEFAULT_ITERATIONS
) -> AlterUserScramCredentialsRequest:
    """Return the request that sets a password, with a random salt; this takes milliseconds."""
    salt = secrets.token_bytes(SALT_BYTES)
    salted = mechanism.salted_password(password, salt, iterations)
    upsertion = ScramCredentialUpsertion(user, mechanism.number, iterations, salt, salted)
    return AlterUserScramCredentialsRequest([], [upsertion])


def delete_request(user: str, mechanisms: Iterable[ScramMechanism]) -> AlterUserScramCredentialsRequest:
    """Return the request that deletes credentials of a user."""
    deletions = [ScramCredentialDeletion(user, mechanism.number) for mechanism in mechanisms]
    return AlterUserScramCredentialsRequest(deletions, [])


def check_altered(response: AlterUserScramCredentialsResponse) -> None:
    """Raise the error of a change, if any.

    :raises RequestError: UNACCEPTABLE_CREDENTIAL, RESOURCE_NOT_FOUND, ...
    """
    for result in response.results:
        check(result.error_code, f"user {result.user!r}", result.error_message)
