"""The pauses before a broker that has ended is started again. Pure."""

from __future__ import annotations

FIRST_S = 0.5
MAX_S = 30.0
STEADY_S = 10.0
"""A broker that was ready for so long is started again after the first pause."""


class Backoff:
    """The pauses of one broker: each twice as long as the one before, and never without end."""

    def __init__(self) -> None:
        self._next_s = FIRST_S

    def pause_s(self, ready_s: float | None) -> float:
        """Return the pause before the next start.

        :param ready_s: for how long the broker was ready; None if it never was.
        """
        if ready_s is not None and ready_s >= STEADY_S:
            self._next_s = FIRST_S
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, MAX_S)
        return pause_s
