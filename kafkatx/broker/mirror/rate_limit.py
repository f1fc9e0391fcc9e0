"""The limit of what a link fetches per second. Pure: the time is an argument."""

from __future__ import annotations

LEAST_BYTES = 64 << 10
"""A fetch asks for this much at least, also with a lower rate."""


class RateLimit:
    """Pauses after bytes, as long as these take at the rate.

    :ivar rate: bytes per second; None: no limit.
    """

    def __init__(self, rate: int | None) -> None:
        self.rate = rate
        self._free_s = 0.0

    def pause_s(self, now_s: float) -> float:
        """Return the seconds until the next fetch."""
        return max(0.0, self._free_s - now_s) if self.rate is not None else 0.0

    def count(self, size: int, now_s: float) -> None:
        """Note bytes that were fetched."""
        if self.rate is not None:
            self._free_s = max(self._free_s, now_s) + size / self.rate

    def most_bytes(self, wanted: int) -> int:
        """Return the size of a fetch: at most what may come in a second."""
        return wanted if self.rate is None else min(wanted, max(self.rate, LEAST_BYTES))
