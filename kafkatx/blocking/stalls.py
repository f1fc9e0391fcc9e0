"""For how long something has not worked, said every few seconds while somebody waits for it."""

from __future__ import annotations

from collections.abc import Callable

EVERY_S = 5.0


class StallReporter:
    """Counts the time since the first of several failures in a row.

    :param tell: called with a line by the first failure EVERY_S or more after that one, and so on; or None.
    """

    def __init__(self, tell: Callable[[str], None] | None, clock: Callable[[], float]) -> None:
        self._report = tell
        self._clock = clock
        self._since: float | None = None
        self._next = 0.0

    def recovered(self) -> None:
        """It works."""
        self._since = None

    def failed(self, what: str) -> None:
        """It does not work; *what* begins the line that says so."""
        now = self._clock()
        if self._since is None:
            self._since, self._next = now, now + EVERY_S
        if self._report is not None and now >= self._next:
            self._next = now + EVERY_S
            self._report(f"{what} for {now - self._since:.0f} s")
