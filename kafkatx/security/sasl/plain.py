"""PLAIN (RFC 4616): a token ``[authzid] NUL user NUL password`` in UTF-8."""

from __future__ import annotations

import attrs

from kafkatx.security.sasl.errors import SaslError

NAME = "PLAIN"


@attrs.frozen
class PlainToken:
    """The client's only token."""

    user: str
    password: str = attrs.field(repr=False)

    def encode(self) -> bytes:
        """Return the token."""
        return f"\0{self.user}\0{self.password}".encode()


def decode(token: bytes) -> PlainToken:
    """Read a token.

    :raises SaslError: it is malformed, has no user or no password, or asks to act for another user.
    """
    try:
        parts = token.decode().split("\0")
    except UnicodeDecodeError:
        raise SaslError("the token is not UTF-8") from None
    if len(parts) != 3:
        raise SaslError(f"the token has {len(parts)} parts, not 3")
    authorization_id, user, password = parts
    if not user or not password:
        raise SaslError("the token has no user name or no password")
    if authorization_id not in ("", user):
        raise SaslError("the client asks to act for another user than the one it logs in as")
    return PlainToken(user, password)
