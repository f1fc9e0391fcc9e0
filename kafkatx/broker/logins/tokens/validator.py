"""The checks of a JSON Web Token (RFC 7519), as Apache Kafka's BrokerJwtValidator. Pure, with PyJWT.

Only signatures with the private key of a pair count: with a shared secret, or without a signature (``none``),
a client that knows the public key could make tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import jwt
from cryptography.exceptions import UnsupportedAlgorithm

from kafkatx.security.identity import Identity

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)

MOST_BYTES = 64 << 10
"""The longest token."""

_UNCHECKED_BY_PYJWT = dict.fromkeys(
    ("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss"), False
)
"""Checks that are made here, with the broker's clock and the tolerance of the settings."""


class TokenRefused(Exception):
    """A token does not count; the message says why, without a part of the token."""


@attrs.frozen
class TokenRules:
    """Rules for the claims of a token (the settings' names in brackets, without ``sasl.oauthbearer.``).

    :ivar audiences: of which it has to have one; none: not checked.
    """

    issuer: str | None = None  #: expected.issuer
    audiences: tuple[str, ...] = ()  #: expected.audience
    skew_s: int = 30  #: clock.skew.seconds
    user_claim: str = "sub"  #: sub.claim.name
    scope_claim: str = "scope"  #: scope.claim.name


def key_id(token: str) -> str | None:
    """Return the name of the key that has signed a token; None if it names none.

    :raises TokenRefused: it is no token, or signed in a way that does not count.
    """
    if len(token) > MOST_BYTES:
        raise TokenRefused(f"the token has more than {MOST_BYTES} bytes")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise TokenRefused("it is not a JSON Web Token") from None
    if header.get("alg") not in ALGORITHMS:
        raise TokenRefused("the token is not signed with the private key of a pair")
    name = header.get("kid")
    return name if isinstance(name, str) else None


class TokenValidator:
    """Checks tokens.

    :param now_ms: returns the time in ms since 1970.
    """

    def __init__(self, rules: TokenRules, now_ms: Callable[[], int]) -> None:
        self._rules = rules
        self._now_ms = now_ms

    def validate(self, token: str, key: object) -> Identity:
        """Return the identity that a token gives.

        :param key: a PyJWK, whose algorithm has to be the token's, or a public key.

        :raises TokenRefused: it does not count.
        """
        try:
            claims = jwt.decode(token, key, algorithms=list(ALGORITHMS), options=_UNCHECKED_BY_PYJWT)  # type: ignore[arg-type]
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError, UnsupportedAlgorithm) as error:
            raise TokenRefused(f"its signature does not count ({type(error).__name__})") from None
        expires_at_s = self._check_times(claims)
        self._check_origin(claims)
        scope = claims.get(self._rules.scope_claim)
        if scope is not None and not isinstance(scope, (str, list)):
            raise TokenRefused(f"its claim {self._rules.scope_claim} is neither text nor a list")
        user = claims.get(self._rules.user_claim)
        if not isinstance(user, str) or not user.strip():
            raise TokenRefused(f"it has no claim {self._rules.user_claim}")
        return Identity(user, int(expires_at_s * 1000))

    def _check_times(self, claims: Mapping[str, Any]) -> float:
        """Return the time at which a token expires, in seconds since 1970."""
        now_s, skew_s = self._now_ms() / 1000, self._rules.skew_s
        expires_at_s = _time(claims, "exp")
        if expires_at_s is None:
            raise TokenRefused("it has no claim exp")
        if expires_at_s + skew_s <= now_s:
            raise TokenRefused(f"it has expired {now_s - expires_at_s:.0f} s ago")
        for name in ("nbf", "iat"):
            time_s = _time(claims, name)
            if time_s is not None and time_s - skew_s > now_s:
                raise TokenRefused(f"its claim {name} is {time_s - now_s:.0f} s in the future")
        return expires_at_s

    def _check_origin(self, claims: Mapping[str, Any]) -> None:
        rules = self._rules
        if rules.issuer is not None and claims.get("iss") != rules.issuer:
            raise TokenRefused("it is of another issuer")
        audience = claims.get("aud", ())
        found = {audience} if isinstance(audience, str) else set(_texts(audience))
        if rules.audiences and not found.intersection(rules.audiences):
            raise TokenRefused("it is for another audience")


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (is_number and 0 <= value < 1 << 40):  # not for NaN, either
        raise TokenRefused(f"its claim {name} is no time")
    return float(value)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []
