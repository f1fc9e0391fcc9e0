"""How long to wait before the next attempt."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import attrs

JITTER = 0.2
"""How far Apache Kafka's clients let a pause stray from its length, either way (KIP-580)."""


@attrs.frozen
class Backoff:
    """Pauses that double from ``first_ms`` up to ``longest_ms``; ``retries`` of them.

    The default waits 100, 200, 400, 800 ms and then 1 s each time: 9.5 s in all, longer than a broker
    takes to restart.

    :ivar jitter: by which part of its length a pause may be shorter or longer, so that clients that failed
        together do not come back together.
    """

    retries: int = 12
    first_ms: int = 100
    longest_ms: int = 1000
    jitter: float = 0.0
    draw: Callable[[float, float], float] = random.uniform

    def pauses_s(self) -> Iterator[float]:
        """Each pause in seconds, in order."""
        return map(self.pause_s, range(self.retries))

    def pause_s(self, failures: int) -> float:
        """The pause in seconds after that many failures have been followed by one more."""
        longest_ms = max(self.longest_ms, self.first_ms)
        pause_ms: float = min(self.first_ms << min(failures, 30), longest_ms)
        if self.jitter:
            pause_ms = min(pause_ms * self.draw(1 - self.jitter, 1 + self.jitter), longest_ms)
        return pause_ms / 1000
