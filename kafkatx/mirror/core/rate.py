"""A bound on a rate: how long to wait before the next bytes are sent. Pure: the time is an argument."""

from __future__ import annotations


class RateLimit:
    """Allows *per_s* bytes a second, and those of one second at once after a pause.

    :param per_s: 0: no limit.
    """

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._free_at_s = float("-inf")

    def reserve(self, size: int, now_s: float) -> float:
        """Take *size* bytes; return the seconds to wait before they are sent."""
        if not self._per_s:
            return 0.0
        starts_s = max(self._free_at_s, now_s - 1.0)
        self._free_at_s = starts_s + size / self._per_s
        return max(0.0, self._free_at_s - now_s)
