"""The login of clients at brokers with SASL: the requests, and the settings that say how. Pure.

The requests are a generator, which the Twisted client and the blocking one run: it yields a request and is
sent the response.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator
from typing import Any

from kafkatx.clientcore.errors import AuthenticationFailed, ConnectionFailed
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common
from kafkatx.config.table.security import sasl as s
from kafkatx.errors import ErrorCode, SettingError
from kafkatx.security.jaas import JaasError, LoginModule, parse_entry
from kafkatx.security.sasl.client import ClientExchange, PlainClient
from kafkatx.security.sasl.credential import MECHANISMS
from kafkatx.security.sasl.errors import SaslError
from kafkatx.security.sasl.oauthbearer import NAME as OAUTHBEARER
from kafkatx.security.sasl.oauthbearer import OAuthBearerClient
from kafkatx.security.sasl.plain import NAME as PLAIN
from kafkatx.security.sasl.scram import ScramClient
from kafkatx.security.tokens import TokenError, Tokens
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest
from kafkatx.wire.schema import Message

NONCE_BYTES = 18

MOST_STEPS = 10
"""Tokens of one exchange that a client takes part in."""

RENEWAL = 0.85
"""Part of a session after which a client logs in again, with the next request."""


class ClientLogin:
    """A client's way to log in, at each of its connections.

    :ivar tokens: gets bearer tokens; None: the mechanism needs none.
    """

    def __init__(
        self, mechanism: str, make: Callable[[str], ClientExchange], tokens: Tokens | None = None
    ) -> None:
        self.mechanism = mechanism
        self.tokens = tokens
        self._make = make

    def fetch_token(self) -> str:
        """Return the bearer token for a login, "" if the mechanism needs none; this may block.

        :raises AuthenticationFailed: there is none.
        :raises ConnectionFailed: there is none now.
        """
        if self.tokens is None:
            return ""
        try:
            return self.tokens.fetch()
        except TokenError as error:
            if error.retriable:
                raise ConnectionFailed(str(error)) from error
            raise AuthenticationFailed(str(error)) from error

    def requests(self, token: str = "") -> Generator[Message, Any, float | None]:
        """Yield the requests of a login; return the seconds after which to log in again, None for never.

        :param token: the bearer token, if the mechanism needs one.
        :raises AuthenticationFailed: the broker refuses, or does not prove what it has to.
        """
        response = yield SaslHandshakeRequest(self.mechanism)
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            raise AuthenticationFailed(
                f"the broker has no SASL mechanism {self.mechanism}: set {s.SASL_MECHANISM.name} to one of "
                f"{', '.join(response.mechanisms)}",
                ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            )
        if response.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise AuthenticationFailed(
                "the broker expects no login at this listener: see security.protocol",
                ErrorCode.ILLEGAL_SASL_STATE,
            )
        _check(response.error_code, None, self.mechanism)
        try:
            lifetime_ms = yield from self._exchange(self._make(token))
        except SaslError as error:
            raise AuthenticationFailed(f"the login by {self.mechanism} failed: {error}") from None
        return lifetime_ms / 1000 * RENEWAL if lifetime_ms > 0 else None

    def _exchange(self, exchange: ClientExchange) -> Generator[Message, Any, int]:
        answer: bytes | None = exchange.first()
        for _ in range(MOST_STEPS):
            response = yield SaslAuthenticateRequest(answer or b"")
            _check(response.error_code, response.error_message, self.mechanism)
            answer = exchange.step(bytes(response.auth_bytes))
            if answer is None:
                return int(response.session_lifetime_ms)
        raise SaslError("the broker goes on without end")


def _check(error_code: int, message: str | None, mechanism: str) -> None:
    if error_code:
        code = ErrorCode.of(error_code)
        raise AuthenticationFailed(
            f"the broker refuses the login by {mechanism}: {message or code.name}", ErrorCode.of(error_code)
        )


def password_login(mechanism: str, user: str, password: str) -> ClientLogin:
    """Return the login with a user name and a password, by PLAIN or SCRAM."""
    if mechanism == PLAIN:
        return ClientLogin(mechanism, lambda _: PlainClient(user, password))
    salted: dict[tuple[bytes, int], bytes] = {}

    def make(_: str) -> ClientExchange:
        nonce = secrets.token_urlsafe(NONCE_BYTES)
        return ScramClient(MECHANISMS[mechanism], user, password, nonce, salted)

    return ClientLogin(mechanism, make)


def has_sasl(settings: ClientSettings) -> bool:
    """Return True if clients have to log in."""
    return settings[common.SECURITY_PROTOCOL].startswith("SASL")


def has_tls(settings: ClientSettings) -> bool:
    """Return True if connections are over TLS."""
    return settings[common.SECURITY_PROTOCOL].endswith("SSL")


def login_of(settings: ClientSettings) -> ClientLogin | None:
    """Return the login that a client's settings ask for; None: none.

    :raises SettingError: a setting is missing or wrong; the message has no secret in it.
    """
    if not has_sasl(settings):
        return None
    mechanism = settings[s.SASL_MECHANISM]
    if mechanism is None:
        raise SettingError(
            f"{s.SASL_MECHANISM.name} is not set, which {common.SECURITY_PROTOCOL.name}="
            f"{settings[common.SECURITY_PROTOCOL]} needs: {s.SASL_MECHANISM.allowed}"
        )
    module = _module(settings, mechanism)
    if mechanism == OAUTHBEARER:
        from kafkatx.clientcore.tokens import tokens_of

        return ClientLogin(mechanism, OAuthBearerClient, tokens_of(settings, module))
    user, password = settings[s.SASL_USERNAME], settings[s.SASL_PASSWORD]
    if module is not None and module.login is not None:
        user, password = module.login
    if not user or not password:
        raise SettingError(
            f"{s.SASL_MECHANISM.name}={mechanism}: set {s.SASL_USERNAME.name} and {s.SASL_PASSWORD.name}, or "
            f"username and password in {s.CLIENT_JAAS_CONFIG.name}"
        )
    return password_login(mechanism, user, password)


def _module(settings: ClientSettings, mechanism: str) -> LoginModule | None:
    text = settings[s.CLIENT_JAAS_CONFIG]
    try:
        return None if text is None else parse_entry(text, mechanism)
    except JaasError as error:
        raise SettingError(f"{s.CLIENT_JAAS_CONFIG.name}: {error}") from None
