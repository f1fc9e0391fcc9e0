"""The lease of a session: until when no other client can have seen it expire. Pure."""

from __future__ import annotations

from collections.abc import Callable

FRACTION = 0.8
"""Part of the session's time-out that a lease lasts; the rest allows for clocks that differ in speed."""


class Lease:
    """The lease of one session, counted from the sending of its last successful write.

    The server counts the session's time-out from when it got that write, which is later.

    :param boottime_s: returns seconds that count on while the machine is suspended
        (``time.clock_gettime(time.CLOCK_BOOTTIME)``).
    :param timeout_s: time-out of the session, as the server has it.
    """

    def __init__(self, boottime_s: Callable[[], float], timeout_s: float) -> None:
        self._boottime_s = boottime_s
        self._duration_s = timeout_s * FRACTION
        self._end_s: float | None = None

    def renew(self, sent_s: float) -> None:
        """Count from *sent_s*, the time before a write was sent that has succeeded."""
        end_s = sent_s + self._duration_s
        if self._end_s is None or end_s > self._end_s:
            self._end_s = end_s

    def remaining_s(self) -> float:
        """Return the seconds left; 0 or less if the lease has ended or never began."""
        return 0.0 if self._end_s is None else self._end_s - self._boottime_s()
