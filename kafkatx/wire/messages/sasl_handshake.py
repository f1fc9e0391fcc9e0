"""SaslHandshake (key 17), versions 0-1: the client chooses a SASL mechanism.

*   After 0 the client's tokens follow without headers, each behind its size.
*   After 1 they follow in SaslAuthenticate requests (KIP-152).
"""

from __future__ import annotations

from kafkatx.wire.schema import INT16, NEVER_FLEXIBLE, STRING, Message, array, field


class SaslHandshakeRequest(Message, key=17, versions=(0, 1), flexible=NEVER_FLEXIBLE):
    """Choose a mechanism."""

    mechanism: str = field(STRING)


class SaslHandshakeResponse(Message, key=17, versions=(0, 1), flexible=NEVER_FLEXIBLE):
    """The mechanisms of the listener."""

    error_code: int = field(INT16)
    mechanisms: list[str] = field(array(STRING))
