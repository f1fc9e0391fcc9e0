r"""OAUTHBEARER (RFC 7628): a token ``n,[a=authzid],\x01auth=Bearer TOKEN\x01[key=value\x01...]\x01``.

A server that refuses answers ``{"status":"invalid_token"}``; the client sends ``\x01``, and then the exchange
fails.
"""

from __future__ import annotations

import json
import re

import attrs

from kafkatx.security.sasl.errors import SaslError

NAME = "OAUTHBEARER"

ABORT = b"\x01"
"""The client's answer to an error."""

INVALID_TOKEN = b'{"status":"invalid_token"}'
"""The server's answer to a token that it does not accept."""

_FIRST = re.compile(r"n,(?:a=(?P<authzid>[^,\x01]+))?,\x01(?P<pairs>(?:[A-Za-z]+=[^\x01]*\x01)+)\x01")
_BEARER = re.compile(r"(?i:bearer) +(?P<token>[A-Za-z0-9\-._~+/]+=*)")


@attrs.frozen
class BearerToken:
    """The client's first message.

    :ivar authorization_id: the user that the client wants to be; empty: the token's.
    """

    token: str = attrs.field(repr=False)
    authorization_id: str = ""

    def encode(self) -> bytes:
        """Return the message."""
        return f"n,,\x01auth=Bearer {self.token}\x01\x01".encode()


def decode(message: bytes) -> BearerToken:
    """Read the client's first message.

    :raises SaslError: it is malformed, or has no bearer token.
    """
    try:
        match = _FIRST.fullmatch(message.decode())
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise SaslError("the client's first message is malformed")
    pairs = [pair.partition("=") for pair in match["pairs"].split("\x01")[:-1]]
    values = [value for key, _, value in pairs if key == "auth"]
    token = read_bearer(values[0]) if len(values) == 1 else None
    if token is None:
        raise SaslError("the client's first message has no bearer token")
    return BearerToken(token, match["authzid"] or "")


def read_bearer(text: str) -> str | None:
    """Return the token of ``Bearer TOKEN`` (RFC 6750); None if there is none."""
    bearer = _BEARER.fullmatch(text)
    return None if bearer is None else bearer["token"]


class OAuthBearerClient:
    """A client's end of one exchange."""

    def __init__(self, token: str) -> None:
        self._token = BearerToken(token)
        self._refused = ""

    def first(self) -> bytes:
        """Return the client's first message.

        :raises SaslError: the token has characters that no token can have.
        """
        if not _BEARER.fullmatch(f"Bearer {self._token.token}"):
            raise SaslError("the token has characters that a bearer token cannot have")
        return self._token.encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Take the server's answer; return None if it has accepted the token.

        :raises SaslError: the server goes on after it has refused the token.
        """
        if self._refused:
            raise SaslError(f"the server refuses the token: {self._refused}")
        if not challenge:
            return None
        try:
            status = json.loads(challenge)["status"]
        except (ValueError, KeyError, TypeError, RecursionError):
            status = "no reason was given"
        self._refused = str(status)[:200]
        return ABORT
