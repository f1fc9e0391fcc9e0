"""For how long no broker has answered, said every few seconds while somebody waits for one."""

from __future__ import annotations

from collections.abc import Callable

from kafkatx.clientside.bootstrap import Address, shown

EVERY_S = 5.0


class Absence:
    """Counts the time since the first of several connections in a row that could not be opened.

    :param tell: called with a line by the first failure EVERY_S or more after that one, and so on; or None.
    """

    def __init__(self, tell: Callable[[str], None] | None, clock: Callable[[], float]) -> None:
        self._tell = tell
        self._clock = clock
        self._since: float | None = None
        self._next = 0.0

    def answered(self) -> None:
        """A broker has answered."""
        self._since = None

    def failed(self, address: Address) -> None:
        """No broker answers at *address*."""
        now = self._clock()
        if self._since is None:
            self._since, self._next = now, now + EVERY_S
        if self._tell is not None and now >= self._next:
            self._next = now + EVERY_S
            self._tell(f"no broker at {shown(address)} for {now - self._since:.0f} s")
