"""SaslAuthenticate (key 36), versions 0-2: a token of a SASL exchange (KIP-152).

*   1 adds the lifetime of the session (KIP-368); 2 is flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import BYTES, INT16, INT64, STRING, Message, field, nullable


class SaslAuthenticateRequest(Message, key=36, versions=(0, 2), flexible=2):
    """A token of the client."""

    auth_bytes: bytes = field(BYTES)


class SaslAuthenticateResponse(Message, key=36, versions=(0, 2), flexible=2):
    """The broker's token; or an error, after which the broker closes the connection."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    auth_bytes: bytes = field(BYTES)
    session_lifetime_ms: int = field(INT64, since=1)
