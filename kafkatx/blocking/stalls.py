"""Messages to a waiting user, every few seconds, about something that keeps failing."""

from __future__ import annotations

from collections.abc import Callable

EVERY_S = 5.0


class StallReporter:
    """Reports how long something has been failing.

    :param report: called with a message by the first failure at least EVERY_S after the first one, and so on;
        or None.
    """

    def __init__(self, report: Callable[[str], None] | None, clock: Callable[[], float]) -> None:
        self._report = report
        self._clock = clock
        self._since: float | None = None
        self._next = 0.0

    def recovered(self) -> None:
        """Record a success."""
        self._since = None

    def failed(self, what: str) -> None:
        """Record a failure; the message begins with *what*."""
        now = self._clock()
        if self._since is None:
            self._since, self._next = now, now + EVERY_S
        if self._report is not None and now >= self._next:
            self._next = now + EVERY_S
            self._report(f"{what} for {now - self._since:.0f} s")
