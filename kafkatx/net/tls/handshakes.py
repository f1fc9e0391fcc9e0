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


MOST_BYTES = 32 << 20
"""Bytes that peers may have sent together before their handshakes are done."""


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
        self._running: dict[Shaking, int] = {}  # with what the peer has sent
        self._received = 0
        self._next_s = float("-inf")

    def __len__(self) -> int:
        return len(self._running)

    def add(self, connection: Shaking) -> None:
        """Add a connection; drop the oldest one if there are too many."""
        if len(self._running) >= self.limits.most:
            oldest = next(iter(self._running))
            self.remove(oldest)
            oldest.drop(
                f"kafkatx.tls.handshakes.max={self.limits.most} reached, and its handshake is the oldest"
            )
        self._running[connection] = 0

    def remove(self, connection: Shaking) -> None:
        """Forget a connection whose handshake has ended."""
        self._received -= self._running.pop(connection, 0)

    def receive(self, connection: Shaking, size: int) -> None:
        """Count bytes of a peer; drop the connection with most if all have sent too much together."""
        if connection not in self._running:
            return
        self._running[connection] += size
        self._received += size
        if self._received > MOST_BYTES:
            largest = max(self._running, key=lambda one: self._running[one])
            sent = self._running[largest]
            self.remove(largest)
            largest.drop(
                f"it sent {sent} bytes before its TLS handshake was done, the most of all connections, which"
                f" together sent more than {MOST_BYTES}"
            )

    def turn_s(self, now_s: float) -> float:
        """Take the next turn; return the seconds until it comes."""
        interval_s = 1 / self.limits.per_second
        self._next_s = max(self._next_s + interval_s, now_s - 0.1)
        return max(0.0, self._next_s - now_s)
