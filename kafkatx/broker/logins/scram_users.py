"""Users with SCRAM credentials in the cluster's state: for SCRAM, and for passwords by other ways."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.broker.logins.password_checks import PasswordChecks
from kafkatx.interfaces.security.logins import ICredentialsChecker, IScramLogin
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential, parse_credential
from kafkatx.security.sasl.errors import SaslError

Stored = Mapping[str, Mapping[str, str]]
"""Kafka's text of each user's credentials, by mechanism."""

_SALT_BYTES, _ITERATIONS = 32, 8192
_STRONGEST_FIRST = tuple(MECHANISMS)[::-1]
_LOG = Logger()


def _parsed(user: str, text: str | None) -> ScramCredential | None:
    try:
        return None if text is None else parse_credential(text)
    except SaslError as error:
        _LOG.error("user {user!r}: {error}", user=user, error=error)
        return None


class InventedCredentials:
    """Invents credentials for unknown users, which cannot be told from real ones.

    Each unknown user has the same salt and iterations whenever and wherever it is asked for: they depend on a
    secret that all brokers have, the server key of some user. The iterations are those of real users: of each
    number that these have, some unknown users have it. Without users there is nothing to hide.

    They are made for known users as well, so that the time of an answer does not tell the two apart.
    """

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._examples: dict[str, tuple[Stored, bytes, list[tuple[int, int]]]] = {}

    def of(self, user: str, mechanism: str, stored: Stored) -> ScramCredential:
        """Return credentials that no password fits."""
        secret, kinds = self._looked_up(mechanism, stored)
        iterations, size = max(
            kinds, key=lambda kind: hmac.digest(secret, f"{mechanism} {kind} {user}".encode(), "sha256")
        )
        salt = hmac.digest(secret, f"{mechanism} {user}".encode(), "sha512")[:size]
        return ScramCredential(salt, iterations, secrets.token_bytes(32), secrets.token_bytes(32))

    def _looked_up(self, mechanism: str, stored: Stored) -> tuple[bytes, list[tuple[int, int]]]:
        """Return a secret, and the iterations with the sizes of salts that users have.

        They are looked for when users have changed only. An unknown user keeps its own as long as a user has
        them, since each of them has a rank for it that does not depend on the others.
        """
        known = self._examples.get(mechanism)
        if known is None or known[0] is not stored:
            real = list(_examples(mechanism, stored))
            secret = real[0].server_key if real else self._secret
            kinds = sorted({(one.iterations, len(one.salt)) for one in real})
            known = self._examples[mechanism] = (stored, secret, kinds or [(_ITERATIONS, _SALT_BYTES)])
        return known[1:]


def _examples(mechanism: str, stored: Stored) -> Iterator[ScramCredential]:
    for user in sorted(stored):
        credential = _parsed(user, stored[user].get(mechanism))
        if credential is not None:
            yield credential


@implementer(ICredentialsChecker)
class ScramUsers:
    """Checks SCRAM logins.

    :param stored: returns the credentials of all users.
    """

    credentialInterfaces = (IScramLogin,)

    def __init__(self, stored: Callable[[], Stored]) -> None:
        self._stored = stored
        self._invented = InventedCredentials()

    def requestAvatarId(self, credentials: Any) -> Deferred[str]:
        """Fire with the user's name; fail with UnauthorizedLogin."""
        return Deferred.fromCoroutine(self._check(credentials))

    async def _check(self, credentials: Any) -> str:
        user, mechanism = credentials.username.decode(), credentials.mechanism
        stored = self._stored()
        invented = self._invented.of(user, mechanism, stored)
        credential = _parsed(user, stored.get(user, {}).get(mechanism))
        proved = await credentials.prove(credential or invented)
        if credential is None or not proved:
            raise UnauthorizedLogin("wrong password, or unknown user")
        if self._stored().get(user, {}).get(mechanism) != stored[user][mechanism]:
            raise UnauthorizedLogin("the user's credentials were changed meanwhile")
        return str(user)


@implementer(ICredentialsChecker)
class ScramPasswords:
    """Checks user names and passwords with the credentials of SCRAM."""

    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, stored: Callable[[], Stored], checks: PasswordChecks) -> None:
        self._stored = stored
        self._checks = checks
        self._invented = InventedCredentials()

    def requestAvatarId(self, credentials: Any) -> Deferred[str]:
        """Fire with the user's name; fail with UnauthorizedLogin."""
        return Deferred.fromCoroutine(self._check(credentials))

    async def _check(self, credentials: Any) -> str:
        user, password, stored = credentials.username.decode(), credentials.password.decode(), self._stored()
        mechanism, credential = self._find(user, stored)
        if credential is None or not self._checks.knows(credentials, credential):
            invented = self._invented.of(user, mechanism, stored)
            matches = partial((credential or invented).matches, MECHANISMS[mechanism], password)
            await self._checks.check(credentials, credential, matches)
            if self._find(user, self._stored()) != (mechanism, credential):
                raise UnauthorizedLogin("the user's credentials were changed meanwhile")
        return str(user)

    def _find(self, user: str, stored: Stored) -> tuple[str, ScramCredential | None]:
        of_user = stored.get(user, {})
        for mechanism in _STRONGEST_FIRST:
            credential = _parsed(user, of_user.get(mechanism))
            if credential is not None:
                return mechanism, credential
        return _STRONGEST_FIRST[0], None
