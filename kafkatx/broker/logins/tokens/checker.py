"""The checker of bearer tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from kafkatx.broker.logins.tokens.keys import Keys, Pauses, check_url
from kafkatx.broker.logins.tokens.validator import TokenRefused, TokenRules, TokenValidator, key_id
from kafkatx.config.listeners import ListenerConfig
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import SettingError
from kafkatx.interfaces import Worker
from kafkatx.interfaces.security.logins import IBearerToken, ICredentialsChecker
from kafkatx.security.identity import Identity


@implementer(ICredentialsChecker)
class TokenChecker:
    """Checks tokens with the keys of their issuer."""

    credentialInterfaces = (IBearerToken,)

    def __init__(self, keys: Keys, validator: TokenValidator) -> None:
        self._keys = keys
        self._validator = validator

    def requestAvatarId(self, credentials: Any) -> Deferred[Identity]:
        """Fire with the identity; fail with UnauthorizedLogin, which says why."""
        return Deferred.fromCoroutine(self._check(credentials.token))

    async def _check(self, token: str) -> Identity:
        try:
            key = await self._keys.find(key_id(token))
            if key is None:
                raise TokenRefused("its key is unknown")
            return self._validator.validate(token, key)
        except TokenRefused as error:
            raise UnauthorizedLogin(str(error)) from None


def token_checker(
    own: ListenerConfig, worker: Worker, clock: IReactorTime, now_ms: Callable[[], int]
) -> TokenChecker:
    """Return the checker that the settings of OAUTHBEARER at a listener ask for.

    :raises SettingError: one is missing or wrong.
    """
    url, name = own[s.JWKS_ENDPOINT_URL], s.JWKS_ENDPOINT_URL.name
    if url is None:
        raise SettingError(
            f"{name} is not set, which OAUTHBEARER needs; tokens without a signature do not count"
        )
    check_url(url, name)
    pauses = Pauses(
        own[s.JWKS_ENDPOINT_REFRESH_MS] / 1000,
        own[s.JWKS_ENDPOINT_RETRY_BACKOFF_MS] / 1000,
        own[s.JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS] / 1000,
    )
    rules = TokenRules(
        own[s.EXPECTED_ISSUER],
        own[s.EXPECTED_AUDIENCE],
        own[s.CLOCK_SKEW_SECONDS],
        own[s.SUB_CLAIM_NAME],
        own[s.SCOPE_CLAIM_NAME],
    )
    return TokenChecker(Keys(url, pauses, worker, clock), TokenValidator(rules, now_ms))
