"""The deadlines of a group's members: for heartbeats, and for the steps of a rebalance. Pure."""

from __future__ import annotations

import enum

from kafkatx.group.actions import NEVER_MS


class Wait(enum.Enum):
    """An action that a member must take in time; the value is the reason of its removal, for the log."""

    SESSION = "its session expired"
    REVOCATION = "it did not revoke partitions within its rebalance time-out"
    JOIN = "it did not join again within its rebalance time-out"
    SYNC = "it did not sync within its rebalance time-out"


class Deadlines:
    """The deadlines of all members. Moving one costs a dict entry, however many there are.

    :ivar earliest_ms: no deadline passes before this time; the one that was due then may have been moved.
    """

    def __init__(self) -> None:
        self._due: dict[tuple[Wait, str], int] = {}
        self.earliest_ms = NEVER_MS

    def set(self, wait: Wait, member_id: str, at_ms: int) -> None:
        """Set a deadline, replacing an earlier one."""
        self._due[wait, member_id] = at_ms
        if at_ms < self.earliest_ms:
            self.earliest_ms = at_ms

    def set_once(self, wait: Wait, member_id: str, at_ms: int) -> None:
        """Set a deadline unless there is one."""
        if (wait, member_id) not in self._due:
            self.set(wait, member_id, at_ms)

    def cancel(self, wait: Wait, member_id: str) -> None:
        """Cancel a deadline."""
        self._due.pop((wait, member_id), None)

    def forget(self, member_id: str) -> None:
        """Cancel all deadlines of a member."""
        for wait in Wait:
            self.cancel(wait, member_id)

    def expire(self, now_ms: int) -> dict[str, Wait]:
        """Remove the deadlines that have passed; return them by member id."""
        if now_ms < self.earliest_ms:
            return {}
        expired = [one for one, at_ms in self._due.items() if at_ms <= now_ms]
        for one in expired:
            del self._due[one]
        self.earliest_ms = min(self._due.values(), default=NEVER_MS)
        return {member_id: wait for wait, member_id in expired}

    def __len__(self) -> int:
        return len(self._due)
