"""Exponential backoff with jitter. Pure but for the random source."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import attrs

JITTER = 0.2
"""The jitter of Apache Kafka's clients, as a fraction of a pause, in both directions (KIP-580)."""


@attrs.frozen
class Backoff:
    """Pauses that double from ``first_ms`` up to ``longest_ms``; there are ``retries`` of them.

    The defaults are 100, 200, 400, 800 ms and then 1 s each: 9.5 s in all, longer than a broker takes to
    restart.

    :ivar jitter: the fraction by which a pause is randomly shortened or extended, so that clients that failed
        together do not retry together.
    """

    retries: int = 12
    first_ms: int = 100
    longest_ms: int = 1000
    jitter: float = 0.0
    draw: Callable[[float, float], float] = random.uniform

    def pauses_s(self) -> Iterator[float]:
        """Iterate over all pauses, in seconds."""
        return map(self.pause_s, range(self.retries))

    def pause_s(self, failures: int) -> float:
        """Return the pause in seconds after a failure that had *failures* others before it."""
        longest_ms = max(self.longest_ms, self.first_ms)
        pause_ms: float = min(self.first_ms << min(failures, 30), longest_ms)
        if self.jitter:
            pause_ms = min(pause_ms * self.draw(1 - self.jitter, 1 + self.jitter), longest_ms)
        return pause_ms / 1000
