"""Limits on what clients of HTTP can make the server hold. Pure."""

from __future__ import annotations

import attrs


@attrs.frozen
class WebLimits:
    """The limits of a listener.

    :ivar max_body_bytes: the size of a request's body.
    :ivar max_held_bytes: the size of all bodies that are being received or answered.
    :ivar max_connections: at the same time; further ones are closed at once.
    :ivar request_timeout_s: seconds from the first byte of a request to its last.
    :ivar idle_timeout_s: seconds without a byte after which a connection is closed.
    :ivar max_unauthenticated_per_ip: connections of one address whose TLS handshake is not done.
    """

    max_body_bytes: int = 4 << 20
    max_held_bytes: int = 64 << 20
    max_connections: int = 1000
    request_timeout_s: float = 30.0
    idle_timeout_s: float = 60.0
    max_unauthenticated_per_ip: int = 500
