"""Timers of a member: heartbeats, the session, and ``max.poll.interval.ms``. Only times, no clock."""

from __future__ import annotations

import attrs

from kafkatx.clientcore.group.membership.actions import NEVER_MS


@attrs.define
class HeartbeatTimer:
    """Heartbeat and session timers of a joined member (Apache Kafka's ``Heartbeat``).

    :ivar due_ms: when to send the next heartbeat, unless one is in flight.
    :ivar session_deadline_ms: when the session expires: no heartbeat was answered since it began.
    """

    interval_ms: int
    session_ms: int
    due_ms: int = NEVER_MS
    session_deadline_ms: int = NEVER_MS
    token: int | None = None
    """The token of the heartbeat in flight."""

    @property
    def deadline_ms(self) -> int:
        """The time of the next event."""
        return min(self.session_deadline_ms, NEVER_MS if self.token is not None else self.due_ms)

    def start(self, now_ms: int) -> None:
        """Start the session: the member has joined."""
        self.token = None
        self.due_ms = now_ms + self.interval_ms
        self.session_deadline_ms = now_ms + self.session_ms

    def stop(self) -> None:
        """Stop: the member has left, or waits for others to join."""
        self.token = None
        self.due_ms = self.session_deadline_ms = NEVER_MS

    def sent(self, token: int, now_ms: int) -> None:
        """Record a sent heartbeat; the next is due an interval later, whenever its response comes."""
        self.token = token
        self.due_ms = now_ms + self.interval_ms

    def answered(self, now_ms: int) -> None:
        """Record a response: the session starts anew."""
        self.token = None
        self.session_deadline_ms = now_ms + self.session_ms

    def retry_at(self, due_ms: int) -> None:
        """Schedule another heartbeat after one has failed."""
        self.token = None
        self.due_ms = due_ms


@attrs.define
class PollTimer:
    """The timer of ``max.poll.interval.ms``: how long the application may process records (KIP-62).

    :ivar deadline_ms: when it expires; NEVER_MS while the application waits for records.
    :ivar expired: it has expired: the member has left, and joins again at the next poll.
    """

    interval_ms: int
    deadline_ms: int = NEVER_MS
    expired: bool = False

    def polled(self, waiting: bool, now_ms: int) -> bool:
        """Restart the timer at a poll; return True if it had expired."""
        self.deadline_ms = NEVER_MS if waiting else now_ms + self.interval_ms
        had_expired, self.expired = self.expired, False
        return had_expired

    def expire(self) -> None:
        """Record that the timer has expired."""
        self.deadline_ms = NEVER_MS
        self.expired = True
