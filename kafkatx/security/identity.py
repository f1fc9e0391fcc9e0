"""The identity of a client that has logged in."""

from __future__ import annotations

import attrs


@attrs.frozen
class Identity:
    """A user, and the time until which the login counts (``IIdentity``).

    :ivar expires_at_ms: in ms since 1970; None: it does not end by itself.
    """

    name: str
    expires_at_ms: int | None = None

    @property
    def principal(self) -> str:
        """Kafka's text of it."""
        return f"User:{self.name}"
