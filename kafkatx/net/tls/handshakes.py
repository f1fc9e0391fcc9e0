"""The limits of handshakes of one listener: how many at once and in a second, and how long. Pure."""

from __future__ import annotations

from typing import Protocol

import attrs


@attrs.frozen
class HandshakeLimits:
    """Limits of handshakes (the settings' names in brackets)."""

    timeout_s: float = 10.0  #: kafkatx.tls.handshake.timeout.ms
    most: int = 1000  #: kafkatx.tls.handshakes.max
    per_second: int = 500  #: kafkatx.tls.handshakes.per.second


class Shaking(Protocol):
    """A connection whose handshake is in progress."""

    def drop(self, reason: str) -> None:
        """Close the connection, and log the reason."""


class Handshakes:
    """The handshakes in progress, the oldest first; and the turns to begin one.

    Turns are spread evenly, after a burst of a tenth of a second.
    """

    def __init__(self, limits: HandshakeLimits) -> None:
        self.limits = limits
        self._running: dict[Shaking, None] = {}
        self._next_s = float("-inf")

    def __len__(self) -> int:
        return len(self._running)

    def add(self, connection: Shaking) -> None:
        """Add a connection; drop the oldest one if there are too many."""
        if len(self._running) >= self.limits.most:
            oldest = next(iter(self._running))
            del self._running[oldest]
            oldest.drop(
                f"kafkatx.tls.handshakes.max={self.limits.most} reached, and its handshake is the oldest"
            )
        self._running[connection] = None

    def remove(self, connection: Shaking) -> None:
        """Forget a connection whose handshake has ended."""
        self._running.pop(connection, None)

    def turn_s(self, now_s: float) -> float:
        """Take the next turn; return the seconds until it comes."""
        interval_s = 1 / self.limits.per_second
        self._next_s = max(self._next_s + interval_s, now_s - 0.1)
        return max(0.0, self._next_s - now_s)
