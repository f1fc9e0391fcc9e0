"""Schemes of the header ``Authorization``: Basic (RFC 7617) and Bearer (RFC 6750)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from twisted.internet.defer import Deferred

from kafkatx.security.sasl.oauthbearer import read_bearer


class Login(NamedTuple):
    """A client that is logged in.

    :ivar left_s: seconds until the login ends by itself; None: it does not.
    """

    principal: str
    left_s: float | None = None


class Attempt(NamedTuple):
    """A login that has to be checked.

    :ivar who: whom it is about, for the log; no secret.
    :ivar check: called with the address of the client; fires with the login, fails with LoginFailed, whose
        message may say why, or with TooManyWaiting. Cancelling it drops the check.
    """

    who: str
    check: Callable[[str], Deferred[Login]]


CheckPassword: TypeAlias = Callable[[str, str, str], "Deferred[Login]"]
"""Checks a user name and a password, which come from an address."""

CheckToken: TypeAlias = Callable[[str], "Deferred[Login]"]


class Scheme(Protocol):
    """A scheme.

    :ivar name: its name in ``kafkatx.http.authentication``.
    :ivar challenge: the value of ``WWW-Authenticate`` that asks for it.
    :ivar hint: what a header has to be.
    """

    name: str
    challenge: str
    hint: str

    def read(self, header: str) -> Attempt | None:
        """Return the login of a header; None if it has none of this scheme."""


class Basic:
    """User names and passwords."""

    name = "basic"
    challenge = 'Basic realm="kafkatx", charset="UTF-8"'
    hint = "Basic, with user and password in base64"

    def __init__(self, check: CheckPassword) -> None:
        self._check = check

    def read(self, header: str) -> Attempt | None:
        """Return the login of a header."""
        scheme, _, encoded = header.strip().partition(" ")
        try:
            text = (
                base64.b64decode(encoded.strip(), validate=True).decode() if scheme.lower() == "basic" else ""
            )
        except ValueError:  # not ASCII, not base64, or not UTF-8
            text = ""
        user, colon, password = text.partition(":")
        if not colon or not user:
            return None
        return Attempt(f"user {user[:100]!r}", lambda address: self._check(user, password, address))


class Bearer:
    """Tokens of an issuer."""

    name = "bearer"
    challenge = 'Bearer realm="kafkatx"'
    hint = "Bearer, with a token"

    def __init__(self, check: CheckToken) -> None:
        self._check = check

    def read(self, header: str) -> Attempt | None:
        """Return the login of a header."""
        token = read_bearer(header.strip())
        return None if token is None else Attempt("a token", lambda _address: self._check(token))
