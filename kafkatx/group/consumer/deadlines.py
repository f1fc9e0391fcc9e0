"""Until when the members of a group may be silent, or take to do what they have to."""

from __future__ import annotations

import enum

from kafkatx.group.actions import NEVER_MS


class Wait(enum.Enum):
    """What a member must do in time; the value says what it has not done, for the log."""

    SESSION = "its session expired"
    REVOCATION = "it did not give partitions up within its rebalance time-out"
    JOIN = "it did not join again within its rebalance time-out"
    SYNC = "it did not sync within its rebalance time-out"


class Deadlines:
    """The deadlines of all members. To put one off costs a dict entry, however many there are.

    :ivar earliest_ms: nothing is due before; what is due may have been put off, or taken away, since.
    """

    def __init__(self) -> None:
        self._due: dict[tuple[Wait, str], int] = {}
        self.earliest_ms = NEVER_MS

    def set(self, wait: Wait, member_id: str, at_ms: int) -> None:
        """Have a member do something until then, whatever was said before."""
        self._due[wait, member_id] = at_ms
        if at_ms < self.earliest_ms:
            self.earliest_ms = at_ms

    def set_once(self, wait: Wait, member_id: str, at_ms: int) -> None:
        """As :meth:`set`, unless it is set."""
        if (wait, member_id) not in self._due:
            self.set(wait, member_id, at_ms)

    def cancel(self, wait: Wait, member_id: str) -> None:
        """The member has done it, or need not."""
        self._due.pop((wait, member_id), None)

    def forget(self, member_id: str) -> None:
        """The member is gone."""
        for wait in Wait:
            self.cancel(wait, member_id)

    def expire(self, now_ms: int) -> dict[str, Wait]:
        """Take out what is due; give the members, and what each has not done."""
        if now_ms < self.earliest_ms:
            return {}
        expired = [one for one, at_ms in self._due.items() if at_ms <= now_ms]
        for one in expired:
            del self._due[one]
        self.earliest_ms = min(self._due.values(), default=NEVER_MS)
        return {member_id: wait for wait, member_id in expired}

    def __len__(self) -> int:
        return len(self._due)
